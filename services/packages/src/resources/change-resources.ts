import type { Principal } from '@kr/caller';
import { changeDraft, type Entity } from '@kr/draft-lifecycle';
import { appendEvents, newEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import type { Tx } from '../store/prisma.ts';
import { replaceResourceIds, resourceIdsOf } from '../store/resource-store.ts';
import type { Holder } from './resource-rules.ts';

export interface ResourceChange<Result> {
  readonly packageId: string;
  readonly principal: Principal;
  /** The list as it shall be, and what to answer; called with the list as it is while nobody else can change it. */
  run(holder: Holder): { readonly ids: readonly string[]; readonly result: Result };
}

/**
 * The one way a version's resource list changes: under the lock of its draft, with the draft's change number and the
 * event in the same transaction; afterwards the records service is told.
 *
 * @throws ServiceError
 *   - `not_found`: no such package, or no draft of it
 *   - `unauthenticated`, `forbidden`: the caller may not
 *   - `conflict` (`draft_locked`): it is being published
 */
export async function changeResources<Result>(
  context: PackagesContext,
  { packageId, principal, run }: ResourceChange<Result>,
): Promise<Result> {
  const change = { id: packageId, action: 'manage_resources', principal } as const;
  const { result, told } = await changeDraft(context.lifecycle, change, async (tx, entity) => {
    const before = await resourceIdsOf(tx, packageId);
    const { ids, result } = run(holderOf(entity, before));
    const revision = await write(tx, entity, before, ids, context.now());
    return { result, told: revision === undefined ? undefined : { revision, ids } };
  });
  if (told !== undefined) await mirrorResources(context, packageId, told.revision, told.ids);
  return result;
}

/** Tells the records service what a version holds. The event says it again if this call is lost. */
async function mirrorResources(
  { records, self, observed }: PackagesContext,
  packageId: string,
  revision: number,
  ids: readonly string[],
): Promise<void> {
  try {
    await records.setPackageResources({ packageId, revision, ids: [...ids] }, self);
  } catch (cause) {
    observed.mirrorDelayed(packageId, cause);
  }
}

function holderOf({ parent, published }: Entity, resourceIds: readonly string[]): Holder {
  return { parentId: parent.id, isFrozen: published !== null, resourceIds };
}

/** The draft's new change number; undefined when nothing changes. */
async function write(
  tx: Tx,
  { id, parent }: Entity,
  before: readonly string[],
  after: readonly string[],
  at: Date,
): Promise<number | undefined> {
  const isSame = before.length === after.length && before.every((resource) => after.includes(resource));
  if (isSame) return undefined;
  await replaceResourceIds(tx, id, before, after);
  const draft = await tx.draft.update({
    where: { id },
    data: { revision: { increment: 1 }, updatedAt: at },
    select: { revision: true },
  });
  const revision = Number(draft.revision);
  const changed = { id, parentId: parent.id, revision, recordIds: [...after] };
  await appendEvents(tx, [
    newEvent('knowledge.packages.resources.changed', changed, { aggregateId: id, revision }),
  ]);
  return revision;
}
