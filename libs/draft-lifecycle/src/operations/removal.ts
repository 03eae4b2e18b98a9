import { authorise } from '@kr/access-policy';
import { auditEntry } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import type {
  ListRemovalsRequest__Output,
  ListRemovalsResponse,
  RemovePublishedRequest__Output,
  RemovePublishedResponse,
  RestorePublishedRequest__Output,
  RestorePublishedResponse,
} from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import {
  getEntity,
  type LifecycleContext,
  notRegistered,
  requirePublished,
  transact,
} from '../context/context.ts';
import { type Repeated, repeatedly } from '../context/repeatedly.ts';
import { appendChangedEvents } from '../events/revisions.ts';
import { assertAllowedOn } from '../model/access.ts';
import type { Entity } from '../model/entity.ts';
import { citationOf, isRemovalReason, REMOVAL_REASONS, type Removal } from '../model/entity.ts';
import { loadVersionIds } from '../store/entities.ts';
import { entityEntry } from './audit.ts';
import { entityDocument } from './documents.ts';

const MAX_NOTE_LENGTH = 1_000;

/**
 * RPC RemovePublished: removes one published version (administrators only). Reads return a tombstone, and the index
 * drops it. Nothing is deleted before the retention is over.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity, or it was never published
 *   - `gone`: it is removed already
 *   - `unauthenticated`, `forbidden`: the caller is no administrator
 *   - `invalid`: no such reason, or the note is too long
 */
export function removePublished(context: LifecycleContext) {
  return async (
    { id, reason, note }: RemovePublishedRequest__Output,
    { principal }: CallContext,
  ): Promise<RemovePublishedResponse> => {
    const found = await getEntity(context, id);
    if (found.published === null) throw notRegistered();
    assertAllowedOn(principal, 'remove', found, found.published, context.now());
    const issues = [
      ...(isRemovalReason(reason)
        ? []
        : [{ field: 'removal_reason.id', messages: [`Must be one of: ${REMOVAL_REASONS.join(', ')}.`] }]),
      ...(note.length > MAX_NOTE_LENGTH
        ? [{ field: 'note', messages: [`Longer than maximum length ${MAX_NOTE_LENGTH}.`] }]
        : []),
    ];
    if (!isRemovalReason(reason) || issues.length > 0)
      throw new ServiceError('invalid', 'A validation error occurred.', { issues });

    await changeRemoval(context, id, async (tx, entity) => {
      const content = requirePublished(entity);
      const removal: Removal = {
        reason,
        note,
        removedBy: principal.userId ?? 'system',
        removedAt: context.now().toISOString(),
        citation: citationOf(content.document),
      };
      await tx.$executeRawUnsafe(
        `update version set removed_at = $2::timestamptz, removal = $3::jsonb, revision = revision + 1 where id = $1`,
        id,
        removal.removedAt,
        JSON.stringify(removal),
      );
      const entry = entityEntry(principal, 'entity.remove', entity, { reason, note });
      await context.store.appendChangeLog(tx, { events: [], entries: [entry] });
    });
    return {};
  };
}

/**
 * RPC RestorePublished: undoes a removal.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity, or it is not removed
 *   - `unauthenticated`, `forbidden`: the caller is no administrator
 *   - `conflict` (`files_purged`): its files are deleted
 */
export function restorePublished(context: LifecycleContext) {
  return async (
    { id }: RestorePublishedRequest__Output,
    { principal }: CallContext,
  ): Promise<RestorePublishedResponse> => {
    const found = await getEntity(context, id);
    if (found.published === null) throw notRegistered();
    assertAllowedOn(principal, 'remove', found, found.published, context.now());
    const entity = await changeRemoval(context, id, async (tx, current) => {
      const restored = await tx.$queryRawUnsafe<unknown[]>(
        `update version set removed_at = null, removal = null, revision = revision + 1
         where id = $1 and removed_at is not null and purged_at is null returning 1`,
        id,
      );
      if (restored.length === 0) throw notRestorable(current);
      const entry = entityEntry(principal, 'entity.restore', current, {});
      await context.store.appendChangeLog(tx, { events: [], entries: [entry] });
    });
    return { document: await entityDocument(context, { entity, form: 'published' }, principal) };
  };
}

function notRestorable({ published }: Entity): ServiceError {
  if (published?.removal === undefined) return new ServiceError('not_found', 'The record is not deleted.');
  return new ServiceError('conflict', 'The files of the record are deleted. It cannot be restored.', {
    code: 'files_purged',
  });
}

/**
 * Changes the removal of one version, and its revision, by which the index orders states. It may change the latest version, so all
 * versions are indexed again.
 */
async function changeRemoval(
  context: LifecycleContext,
  id: string,
  change: (tx: Sql, entity: Entity) => Promise<void>,
): Promise<Entity> {
  await transact(context, async (tx) => {
    const entity = await context.store.loadLocked(tx, id);
    if (entity === undefined) throw notRegistered();
    await change(tx, entity);
    await appendChangedEvents(context, tx, await loadVersionIds(tx, entity.parent.id));
  });
  return getEntity(context, id);
}

interface RemovalRow {
  id: string;
  removal: Removal;
  purged_at: Date | null;
}

/**
 * RPC ListRemovals: the removed entities, the latest first. Only administrators see entities that were not public.
 */
export function listRemovals({ database }: LifecycleContext) {
  return async (
    { size, page }: ListRemovalsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListRemovalsResponse> => {
    authorise(principal, 'list_removals', null);
    const rows = await database.$queryRawUnsafe<(RemovalRow & { total: bigint })[]>(
      `select id, removal, purged_at, count(*) over () as total from version
       where removed_at is not null and ($3::boolean or document -> 'access' ->> 'record' = 'public')
       order by removed_at desc, id limit $1::int offset $2::int`,
      size,
      (Math.max(page, 1) - 1) * size,
      principal.isAdmin || principal.service !== null,
    );
    return {
      total: Number(rows[0]?.total ?? 0),
      removals: rows.map(({ id, removal, purged_at: purgedAt }) => ({
        id,
        reason: removal.reason,
        note: removal.note,
        removedBy: removal.removedBy,
        removedAt: removal.removedAt,
        citation: removal.citation,
        purgedAt: purgedAt?.toISOString() ?? '',
      })),
    };
  };
}

const EVERY_MS = 3_600_000;
const BATCH = 100;

/**
 * Ends the retention of entities that were removed `retentionMs` ago: from then on they cannot be restored, and the files
 * service deletes their files. Safe to run in several processes at once.
 *
 * @returns the number of purged entities
 */
export async function purgeRemoved(context: LifecycleContext, retentionMs: number): Promise<number> {
  const now = context.now();
  const before = new Date(now.getTime() - retentionMs);
  let purged = 0;
  for (;;) {
    const rows = await transact(context, async (tx) => {
      const rows = await tx.$queryRawUnsafe<{ id: string; parent_id: string; revision: bigint }[]>(
        `update version set purged_at = $1::timestamptz where id in (
           select id from version where removed_at <= $2::timestamptz and purged_at is null
           order by id limit ${BATCH} for update skip locked)
         returning id, parent_id, revision`,
        now.toISOString(),
        before.toISOString(),
      );
      await context.store.appendChangeLog(tx, {
        events: rows.map(({ id, parent_id: parentId, revision }) =>
          context.kind.events.purged({ id, parentId, revision: Number(revision) }),
        ),
        entries: rows.map(({ id, parent_id: parentId }) =>
          auditEntry(servicePrincipal(`${context.kind.name}s`), 'entity.purge', { id, parentId }),
        ),
      });
      return rows;
    });
    purged += rows.length;
    if (rows.length < BATCH) return purged;
  }
}

/** Purges at once and every hour. */
export function startPurging(context: LifecycleContext, retentionMs: number): Repeated {
  return repeatedly(
    EVERY_MS,
    () => purgeRemoved(context, retentionMs),
    (err) => context.logger.warn({ err }, 'purging removed entities failed; it is retried in an hour'),
  );
}
