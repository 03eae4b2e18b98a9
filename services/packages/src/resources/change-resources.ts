import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEntry, appendAudited, auditEntry } from '@kr/audit-trail';
import { type Principal, servicePrincipal } from '@kr/caller';
import type { Sql } from '@kr/database';
import { changeDraft, type Entity, relationsOf } from '@kr/draft-lifecycle';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { replaceResourceIds } from '../store/resource-store.ts';
import type { Holder } from './resource-rules.ts';
import { isRestricting, resourcesChanged, type VersionUpdate, versionUpdate } from './version-update.ts';

/**
 * Notifies the records service at once. If the call is lost, an event has the same effect.
 *
 * @throws ServiceError if drafts of a restricted package may still be public: publishing them now would make them
 * public
 */
async function notifyRecords(
  { records, observations }: Pick<PackagesContext, 'records' | 'observations'>,
  { update, isAdded }: Changed,
  requestId: string,
): Promise<void> {
  try {
    await records.setPackageResources(update, servicePrincipal('packages', requestId));
  } catch (cause) {
    observations.mirrorDeferred(update.packageId, cause);
    if (isAdded && isRestricting(update)) throw ServiceError.from(cause);
  }
}

interface Changed {
  readonly update: VersionUpdate;
  readonly isAdded: boolean;
}

/** Events and publications name all resources of a version. */
const MAX_RESOURCES = 10_000;

export interface ResourceChange<Result> {
  readonly packageId: string;
  readonly principal: Principal;
  /** The version that the resources are imported from. */
  readonly from?: string;
  /** Returns the new list and the result; called with the current list under its lock. */
  run(holder: Holder): { readonly ids: readonly string[]; readonly result: Result };
}

/**
 * The only way to change a version's resource list: under the lock of its draft, with the draft's change
 * number and the event in the same transaction; afterwards the records service is notified.
 *
 * @throws ServiceError - `not_found`: no such package, or no draft of it - `unauthenticated`, `forbidden`:
 * not allowed - `conflict` (`draft_locked`): it is being published - `invalid` (`too_many_resources`): more
 * than 10,000 resources
 */
export async function changeResources<Result>(
  context: PackagesContext,
  { packageId, principal, from, run }: ResourceChange<Result>,
): Promise<Result> {
  const change = { id: packageId, action: 'manage_resources', principal } as const;
  const { result, changed } = await changeDraft(context, change, async (tx, entity) => {
    const before = relationsOf(entity).draft;
    const { ids, result } = run(holderOf(entity, before));
    const added = ids.filter((id) => !before.includes(id));
    const removed = before.filter((id) => !ids.includes(id));
    if (added.length + removed.length === 0) return { result, changed: undefined };
    if (ids.length > Math.max(MAX_RESOURCES, before.length)) throw tooManyResources();
    await replaceResourceIds(tx, packageId, before, ids);
    const revision = await nextRevision(tx, packageId, context.now());
    const draft = { ...entity.draft, revision };
    const update = versionUpdate({ ...entity, draft }, ids, context.now());
    const listed = { added, removed, ...(from !== undefined && { from }) };
    await appendAudited(tx, [resourcesChanged(update)], entriesOf(principal, entity, listed));
    return { result, changed: { update, isAdded: added.length > 0 } };
  });
  if (changed !== undefined) await notifyRecords(context, changed, principal.requestId);
  return result;
}

function tooManyResources(): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    code: 'too_many_resources',
    issues: [{ field: 'resources', messages: [`A package may have at most ${MAX_RESOURCES} resources.`] }],
  });
}

function entriesOf(
  principal: Principal,
  { id, parent }: Entity,
  { added, removed, from }: { added: readonly string[]; removed: readonly string[]; from?: string },
): AuditEntry[] {
  const version = { id, parentId: parent.id };
  const addition = { records: added, ...(from !== undefined && { from }) };
  return [
    ...(added.length > 0 ? [auditEntry(principal, 'resources.add', version, addition)] : []),
    ...(removed.length > 0 ? [auditEntry(principal, 'resources.remove', version, { records: removed })] : []),
  ];
}

function holderOf({ parent, published }: Entity, resourceIds: readonly string[]): Holder {
  return { parentId: parent.id, isFrozen: published !== null, resourceIds };
}

async function nextRevision(tx: Sql, packageId: string, at: Date): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ revision: bigint }[]>(
    'update draft set revision = revision + 1, updated_at = $2::timestamptz where id = $1 returning revision',
    packageId,
    at.toISOString(),
  );
  return Number(row?.revision);
}

const MAX_WAIT_MS = 3_000;
const PAUSE_MS = 25;

/**
 * As `changeResources`, but while the package is being published it waits for the end. For consequences of a
 * change that is already made elsewhere.
 *
 * @throws ServiceError as `changeResources`; `conflict` after 3 s
 */
export async function changeResourcesWhenUnlocked<Result>(
  context: PackagesContext,
  change: ResourceChange<Result>,
): Promise<Result> {
  const deadline = performance.now() + MAX_WAIT_MS;
  while (true) {
    try {
      return await changeResources(context, change);
    } catch (error) {
      const isLocked = error instanceof ServiceError && error.kind === 'conflict';
      if (!isLocked || performance.now() > deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
}
