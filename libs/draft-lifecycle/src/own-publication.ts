import type { Issue } from '@kr/service-error';
import type { DraftFace, Entity } from './entity.ts';
import type { PublishedEntity } from './entity-kind.ts';
import { draftFace } from './lifecycle-context.ts';
import type { FileCounts, LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleDatabase, LifecycleSql } from './lifecycle-sql.ts';
import { loadLocked } from './lifecycle-store.ts';
import { draftLocked } from './lock-rules.ts';
import { notFound } from './missing-entity.ts';
import { problemsOf, stagedForm } from './publishable.ts';

/** One entity that the coordinator publishes itself. */
export interface OwnPublication {
  publicationId: string;
  id: string;
}

/**
 * Holds a draft for a publication, so that nothing changes it until it is shown or unlocked. Safe to repeat.
 *
 * @returns the entity with its draft; undefined when there is none
 * @throws ServiceError `conflict` (`draft_locked`) when another publication holds it
 */
export async function lockDraft<Tx extends LifecycleSql>(
  { store }: Pick<LifecycleDeps<Tx>, 'store'>,
  tx: Tx,
  { publicationId, id }: OwnPublication,
): Promise<(Entity & { draft: DraftFace }) | undefined> {
  const entity = await loadLocked(store, tx, id);
  if (entity === undefined || entity.draft === null) return undefined;
  const { draft } = entity;
  if (draft.lockedBy !== null && draft.lockedBy !== publicationId) throw draftLocked();
  await store.lockDrafts(tx, publicationId, [id]);
  return { ...entity, draft: { ...draft, lockedBy: publicationId } };
}

/**
 * Everything that keeps a draft from being published with these files; nothing is changed.
 *
 * @throws ServiceError `not_found` when there is no such draft
 */
export async function publishIssuesOf<Tx extends LifecycleSql>(
  deps: Pick<LifecycleDeps<Tx>, 'kind' | 'store'>,
  sql: LifecycleDatabase<Tx>,
  id: string,
  counts: FileCounts,
): Promise<Issue[]> {
  const entity = (await deps.store.loadEntities(sql, [id])).get(id);
  if (entity === undefined) throw notFound();
  const withDraft = { ...entity, draft: draftFace(entity) };
  return (await problemsOf(deps, sql, [withDraft], new Map([[id, counts]]))).get(id) ?? [];
}

/**
 * Shows the draft that this publication holds, in the transaction that commits the publication: the published form,
 * its event, and no draft any more. The draft must have had no issues.
 *
 * @throws ServiceError
 *   - `not_found`: no such draft
 *   - `conflict` (`draft_locked`): this publication does not hold it
 */
export async function publishInTransaction<Tx extends LifecycleSql>(
  deps: Pick<LifecycleDeps<Tx>, 'kind' | 'store' | 'oaiPrefix' | 'now'>,
  tx: Tx,
  {
    publicationId,
    id,
    counts,
    recordIds,
  }: OwnPublication & { counts: FileCounts; recordIds: readonly string[] },
): Promise<PublishedEntity> {
  const { store } = deps;
  const entity = await loadLocked(store, tx, id);
  if (entity === undefined) throw notFound();
  const draft = draftFace(entity);
  if (draft.lockedBy !== publicationId) throw draftLocked();
  const form = stagedForm(deps, { ...entity, draft }, new Map([[id, counts]]));
  await store.stageForms(tx, publicationId, [form], deps.now());

  const [published] = await store.showStaged(tx, publicationId);
  if (published === undefined) throw notFound();
  const publication = { id: publicationId, packageId: id, recordIds };
  await store.appendEvents(tx, [deps.kind.events.published(published, publication)]);
  await deps.kind.hooks.published?.(tx, [published], publication);
  return published;
}
