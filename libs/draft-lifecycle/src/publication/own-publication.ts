import type { AuditEntry } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import type { Sql, SqlDatabase } from '@kr/database';
import type { Issue } from '@kr/service-error';
import type { LifecycleDeps } from '../context/context.ts';
import { notFound, requireDraft } from '../context/context.ts';
import { appendChangedEvents } from '../events/revisions.ts';
import { draftLocked } from '../model/access.ts';
import type { FileCounts } from '../model/files.ts';
import type { PublishedEntity } from '../model/kind.ts';
import { loadLatest } from '../store/entities.ts';
import { stagedForm, type ValidationDeps, validateDrafts } from './validate.ts';

/** The entity that the coordinator publishes in its own database. */
export interface OwnPublication {
  publicationId: string;
  id: string;
}

/**
 * All problems that prevent publishing this draft with these files; nothing is changed.
 *
 * @throws ServiceError `not_found` when there is no such draft
 */
export async function validateOwnDraft(
  deps: ValidationDeps & Pick<LifecycleDeps, 'store'>,
  sql: SqlDatabase,
  id: string,
  counts: FileCounts,
): Promise<Issue[]> {
  const entity = (await deps.store.loadEntities(sql, [id])).get(id);
  if (entity === undefined) throw notFound();
  const withDraft = { ...entity, draft: requireDraft(entity) };
  return (await validateDrafts(deps, sql, [withDraft], new Map([[id, counts]]))).get(id) ?? [];
}

/**
 * Publishes the draft that this publication has locked, in the transaction that commits the publication, with its event.
 * The draft must have had no issues.
 *
 * @throws ServiceError
 *   - `not_found`: no such draft
 *   - `conflict` (`draft_locked`): this publication has not locked it
 */
export async function publishInTransaction(
  deps: Pick<LifecycleDeps, 'kind' | 'store' | 'oaiPrefix' | 'now'>,
  tx: Sql,
  {
    publicationId,
    id,
    counts,
    recordIds,
    actor,
  }: OwnPublication & { counts: FileCounts; recordIds: readonly string[]; actor: Actor },
): Promise<PublishedEntity> {
  const { store } = deps;
  const entity = await store.loadLocked(tx, id);
  if (entity === undefined) throw notFound();
  const draft = requireDraft(entity);
  if (draft.lockedBy !== publicationId) throw draftLocked();
  const form = stagedForm(deps, { ...entity, draft }, new Map([[id, counts]]));
  const published = { id, parentId: entity.parent.id, revision: form.revision };
  const publication = { id: publicationId, packageId: id, recordIds };
  const entry: AuditEntry = {
    action: `${deps.kind.name}.publish`,
    entityId: id,
    parentId: published.parentId,
    actor,
    metadata: { publication: publicationId, revision: form.revision, records: recordIds.length },
  };
  const log = { events: [deps.kind.events.published(published, publication)], entries: [entry] };
  const former = entity.published === null && entity.latestIndex > 0 ? entity.parent.id : undefined;
  const formerLatest = former === undefined ? undefined : await loadLatest(tx, former);
  await store.revealDraft(tx, publicationId, form, log, deps.now());
  if (formerLatest !== undefined) await appendChangedEvents(deps, tx, [formerLatest.id]);
  await deps.kind.hooks.published?.(tx, [published], publication);
  return published;
}
