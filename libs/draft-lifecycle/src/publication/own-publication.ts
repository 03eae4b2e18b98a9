import type { AuditEntry } from '@kr/audit-trail';
import type { Actor } from '@kr/caller';
import type { Sql, SqlDatabase } from '@kr/database';
import type { Issue } from '@kr/service-error';
import type { LifecycleDeps } from '../context/context.ts';
import { notFound, requireDraft } from '../context/context.ts';
import { publishChanges } from '../events/revisions.ts';
import { draftLocked } from '../model/access.ts';
import type { FileCounts } from '../model/files.ts';
import type { PublishedEntity } from '../model/kind.ts';
import { loadLatest } from '../store/entities.ts';
import { loadLocked } from '../store/port.ts';
import { stagedForm, type ValidationDeps, validateDrafts } from './validate.ts';

/** One entity that the coordinator publishes itself. */
export interface OwnPublication {
  publicationId: string;
  id: string;
}

/**
 * Everything that keeps a draft from being published with these files; nothing is changed.
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
 * Shows the draft that this publication holds, in the transaction that commits the publication: the published form,
 * its event, and no draft any more. The draft must have had no issues.
 *
 * @throws ServiceError
 *   - `not_found`: no such draft
 *   - `conflict` (`draft_locked`): this publication does not hold it
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
  const entity = await loadLocked(store, tx, id);
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
  await store.showDraft(tx, publicationId, form, log, deps.now());
  if (formerLatest !== undefined) await publishChanges(deps, tx, [formerLatest.id]);
  await deps.kind.hooks.published?.(tx, [published], publication);
  return published;
}
