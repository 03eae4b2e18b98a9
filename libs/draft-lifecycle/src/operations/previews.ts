import type { ClearPreviewRequest__Output, ClearPreviewResponse } from '@kr/contracts';
import { appendEvents, type ReceivedEvent } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import { getEntity, type LifecycleContext, requireDraft, transact } from '../context/context.ts';
import { assertAllowedOn } from '../model/access.ts';
import type { SavedDraft } from '../model/kind.ts';
import { lockEntities } from '../store/entities.ts';

interface DeletedFile {
  /** The entity that it was a file of. */
  id: string;
  key: string;
}

/**
 * RPC ClearPreview: clears the preview of a draft if it is one of these deleted files.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity, or it has no draft
 *   - `unauthenticated`, `forbidden`: the caller may not write its files
 */
export function clearPreview(context: LifecycleContext) {
  return async (
    { id, keys }: ClearPreviewRequest__Output,
    { principal }: CallContext,
  ): Promise<ClearPreviewResponse> => {
    const entity = await getEntity(context, id);
    assertAllowedOn(principal, 'write_files', entity, requireDraft(entity), context.now());
    await clearPreviews(
      context,
      keys.map((key) => ({ id, key })),
    );
    return {};
  };
}

export const FILE_DELETED_SUBJECTS = ['knowledge.files.entry.deleted'] as const;

/**
 * Consumes `knowledge.files.entry.deleted`: removes a deleted preview from its draft. A draft that is being published is
 * skipped; its files were counted when they were sealed.
 */
export function clearDeletedPreviews(context: LifecycleContext) {
  return async (events: readonly ReceivedEvent<'knowledge.files.entry.deleted'>[]): Promise<void> => {
    const deleted = events.map(({ payload }) => ({ id: payload.entityId, key: payload.key }));
    // The event may be late: a file of the same name may be there again.
    const counts = await context.describeBuckets([...new Set(deleted.map(({ id }) => id))]);
    await clearPreviews(
      context,
      deleted.filter(({ id, key }) => counts.get(id)?.keys.includes(key) !== true),
    );
  };
}

/** The same for all drafts, when events were lost. */
export async function clearLostPreviews(context: LifecycleContext): Promise<void> {
  for (let afterId = ''; ; ) {
    const previews = await context.database.$queryRawUnsafe<DeletedFile[]>(PREVIEWS, afterId);
    const last = previews.at(-1);
    if (last === undefined) return;
    const counts = await context.describeBuckets(previews.map(({ id }) => id));
    const missing = previews.filter(({ id, key }) => counts.get(id)?.keys.includes(key) !== true);
    if (missing.length > 0) await clearPreviews(context, missing);
    afterId = last.id;
  }
}

const PREVIEWS = `
  select id, document -> 'files' ->> 'default_preview' as key from draft
  where id > $1 and document -> 'files' ->> 'default_preview' is not null order by id limit 200`;

async function clearPreviews(context: LifecycleContext, deleted: readonly DeletedFile[]): Promise<void> {
  const { kind, now } = context;
  await transact(context, async (tx) => {
    await lockEntities(
      tx,
      deleted.map(({ id }) => id),
    );
    const rows = await tx.$queryRawUnsafe<(Omit<SavedDraft, 'parentId'> & { parent_id: string })[]>(
      CLEAR,
      JSON.stringify(deleted),
      now().toISOString(),
    );
    const saved = rows.map(({ id, parent_id, revision }) =>
      kind.events.draftSaved({ id, parentId: parent_id, revision: Number(revision) }),
    );
    await appendEvents(tx, saved);
  });
}

const CLEAR = `
  update draft d
  set document = jsonb_set(d.document, '{files,default_preview}', 'null'), revision = d.revision + 1,
      updated_at = $2::timestamptz
  from version v
  where v.id = d.id and d.locked_by is null
    and exists (
      select from jsonb_to_recordset($1::jsonb) as deleted(id text, key text)
      where deleted.id = d.id and deleted.key = d.document -> 'files' ->> 'default_preview'
    )
  returning d.id, v.parent_id, d.revision`;
