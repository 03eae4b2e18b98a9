import type { EntityAction } from '@kr/access-policy';
import type { AuditAction, AuditEntry } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { Sql } from '@kr/database';
import {
  assertRevision,
  type LifecycleContext,
  notFoundErrors,
  requireDraft,
  transact,
} from '../context/context.ts';
import { assertAllowedOn, assertUnlocked } from '../model/access.ts';
import type { DraftForm, Entity, OpenDraft, StoredDocument } from '../model/entity.ts';
import { withoutUnknownFields } from '../model/issues.ts';
import { lockParentOf } from '../store/entities.ts';
import { entityEntry } from './audit.ts';

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
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft - `unauthenticated`,
 * `forbidden`: not allowed - `precondition_failed`: it is not at the revision the caller has seen -
 * `conflict` (`draft_locked`): it is being published
 */
export async function draftForChange(context: LifecycleContext, change: DraftChange): Promise<OpenDraft> {
  const { kind, store, database } = context;
  const load = async () => (await store.loadEntities(database, [change.id], kind.related)).get(change.id);
  let entity = await load();
  // A lock of a decided publication does not count; a lock with an unknown decision does.
  const lockedBy = entity?.draft?.lockedBy ?? null;
  if (lockedBy !== null && (await context.publications.resolve([lockedBy])).isChanged) entity = await load();
  if (entity === undefined) throw (await notFoundErrors(context, [change.id]))(change.id);
  return { ...entity, draft: checked(entity, change, context.now()) };
}

/** New content of a draft, with its audit action. */
export interface NewContent {
  document: StoredDocument;
  issues: DraftForm['issues'];
  action: AuditAction;
  metadata: AuditEntry['metadata'];
}

/**
 * Saves new content of a draft, in one statement. `run` computes it from the current draft. If the draft was changed
 * meanwhile, `run` computes it again, in a transaction that excludes other changes: frequent saves of others cannot
 * delay this one without limit.
 *
 * @throws ServiceError as `draftForChange`
 */
export async function saveDraft(
  context: LifecycleContext,
  change: DraftChange,
  run: (sql: Sql, current: OpenDraft, now: Date) => Promise<NewContent>,
): Promise<OpenDraft> {
  const { kind, store, database } = context;
  const save = async (sql: Sql, current: OpenDraft): Promise<OpenDraft | undefined> => {
    const now = context.now();
    const { document, issues, action, metadata } = await run(sql, current, now);
    const revision = current.draft.revision + 1;
    const isUpdate = action === 'draft.update';
    const isRestriction = isUpdate && document.access.record === 'restricted';
    const saved: OpenDraft = {
      ...current,
      draft: {
        ...current.draft,
        document,
        issues: withoutUnknownFields(issues),
        revision,
        ...(isRestriction && { restrictionRevision: revision }),
        updatedAt: now,
      },
    };
    const log = {
      events: [
        kind.events.draftSaved({ id: saved.id, parentId: saved.parent.id, revision }),
        ...((isUpdate && kind.events.draftUpdated?.(saved, now)) || []),
      ],
      entries: [entityEntry(change.principal, action, saved, metadata)],
    };
    return (await store.replaceUnchanged(sql, saved, log)) ? saved : undefined;
  };
  const saved = await save(database, await draftForChange(context, change));
  if (saved !== undefined) {
    context.wakeRelay();
    return saved;
  }
  return changeDraft(context, change, async (tx, entity) => {
    const savedInTurn = await save(tx, entity);
    if (savedInTurn === undefined) throw new Error(`the locked draft of ${change.id} was changed`);
    return savedInTurn;
  });
}

/**
 * Changes a draft in one transaction that excludes other changes and publications. It locks the draft before it checks
 * the caller: for a request of a user, call `draftForChange` before.
 *
 * @throws ServiceError as `draftForChange`
 */
export async function changeDraft<Result>(
  context: LifecycleContext,
  change: DraftChange,
  run: (tx: Sql, entity: OpenDraft) => Promise<Result>,
): Promise<Result> {
  for (let isResolved = false; ; isResolved = true) {
    const outcome = await transact(context, async (tx) => {
      // A deletion may also remove the parent, and parents are locked before their versions.
      if (change.action === 'delete_draft') await lockParentOf(tx, change.id);
      const entity = await context.store.loadLocked(tx, change.id, context.kind.related);
      const lockedBy = entity?.draft?.lockedBy ?? null;
      if (entity === undefined || (lockedBy !== null && !isResolved)) return { entity, lockedBy };
      const draft = checked(entity, change, context.now());
      return { result: await run(tx, { ...entity, draft }) };
    });
    if ('result' in outcome) return outcome.result as Result;
    const { entity, lockedBy } = outcome;
    if (entity === undefined) throw (await notFoundErrors(context, [change.id]))(change.id);
    if (lockedBy !== null) await context.publications.resolve([lockedBy]);
  }
}

function checked(entity: Entity, { ifRevision = 0, action, principal }: DraftChange, now: Date): DraftForm {
  const draft = requireDraft(entity);
  assertAllowedOn(principal, action, entity, draft, now);
  // After the access check, because the number of saves is confidential.
  assertRevision(ifRevision, draft);
  assertUnlocked(draft);
  return draft;
}
