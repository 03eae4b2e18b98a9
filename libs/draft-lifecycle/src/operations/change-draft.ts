import type { EntityAction } from '@kr/access-policy';
import type { Principal } from '@kr/caller';
import type { Sql } from '@kr/database';
import {
  assertRevision,
  draftFace,
  type LifecycleContext,
  transact,
  unknownId,
  whyMissing,
} from '../context/context.ts';
import { assertUnlocked, permit } from '../model/access.ts';
import type { DraftFace, Entity } from '../model/entity.ts';
import { lockParentOf } from '../store/entities.ts';
import { loadLocked } from '../store/port.ts';

export interface DraftChange {
  id: string;
  /** Zero: any revision. */
  ifRevision?: string | number;
  action: EntityAction;
  principal: Principal;
}

/**
 * The current draft, if the caller may change it. Call it before slow work of a change.
 *
 * @throws ServiceError as `changeDraft`
 */
export async function draftForChange(
  context: LifecycleContext,
  change: DraftChange,
): Promise<{ entity: Entity; draft: DraftFace }> {
  const { kind, store, database } = context;
  const load = async () => (await store.loadEntities(database, [change.id], kind.related)).get(change.id);
  let entity = await load();
  // A lock of a decided publication does not count; a lock with an unknown decision does.
  const lockedBy = entity?.draft?.lockedBy ?? null;
  if (lockedBy !== null && (await context.publications.settle([lockedBy])).isChanged) entity = await load();
  if (entity === undefined) throw (await whyMissing(context, [change.id]))(change.id);
  return { entity, draft: checked(entity, change, context.now()) };
}

/**
 * Changes a draft in one transaction that excludes other changes and publications.
 *
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft - `unauthenticated`,
 * `forbidden`: not allowed - `precondition_failed`: it is not at the revision the caller has seen -
 * `conflict` (`draft_locked`): it is being published
 */
export async function changeDraft<Result>(
  context: LifecycleContext,
  change: DraftChange,
  run: (tx: Sql, entity: Entity, draft: DraftFace) => Promise<Result>,
): Promise<Result> {
  return transact(context, async (tx) => {
    // A deletion may also remove the parent, and parents are locked before their versions.
    if (change.action === 'delete_draft') await lockParentOf(tx, change.id);
    const entity = await loadLocked(context.store, tx, change.id);
    if (entity === undefined) throw unknownId();
    return run(tx, entity, checked(entity, change, context.now()));
  });
}

function checked(entity: Entity, { ifRevision = 0, action, principal }: DraftChange, now: Date): DraftFace {
  const draft = draftFace(entity);
  permit(principal, action, entity, draft, now);
  // After the access check, because the number of saves is confidential.
  assertRevision(ifRevision, draft);
  assertUnlocked(draft);
  return draft;
}
