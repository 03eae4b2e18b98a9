import type { Sql } from '@kr/database';
import { appendEvents } from '@kr/event-bus';
import type { LifecycleDeps } from '../context/context.ts';
import type { SavedDraft } from '../model/kind.ts';

/**
 * Publishes that data besides the content of these entities has changed, such as a relation. Their change numbers
 * stay, so that concurrent edits of the content do not conflict.
 */
export async function appendChangedEvents(
  { kind }: Pick<LifecycleDeps, 'kind'>,
  tx: Sql,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const rows = await tx.$queryRawUnsafe<RevisionRow[]>(
    `select v.id, v.parent_id,
            greatest(case when v.visible then v.revision else 0 end, coalesce(d.revision, 0)) as revision
     from version v left join draft d on d.id = v.id where v.id = any($1::text[]) order by v.id`,
    ids,
  );
  await appendEvents(
    tx,
    highest(rows).map((entity) => kind.events.changed(entity)),
  );
}

interface RevisionRow {
  id: string;
  parent_id: string;
  revision: bigint;
}

/**
 * Records a change of state shared by all versions of these parents: every form gets a new change number, and there is
 * one event for each entity. The parents must be locked. The number of statements does not depend on theirs.
 */
export async function bumpRevisions(
  { kind, now }: Pick<LifecycleDeps, 'kind' | 'now'>,
  tx: Sql,
  parentIds: readonly string[],
): Promise<void> {
  await tx.$queryRawUnsafe(
    'select id from version where parent_id = any($1::text[]) order by id for update',
    parentIds,
  );
  const drafts = await tx.$queryRawUnsafe<RevisionRow[]>(
    `update draft d set revision = d.revision + 1, updated_at = $2::timestamptz
     from version v where v.id = d.id and v.parent_id = any($1::text[])
     returning d.id, v.parent_id, d.revision`,
    parentIds,
    now().toISOString(),
  );
  // `updated` stays: the published content was not edited.
  const published = await tx.$queryRawUnsafe<RevisionRow[]>(
    `update version set revision = revision + 1 where parent_id = any($1::text[]) and visible
     returning id, parent_id, revision`,
    parentIds,
  );
  await appendEvents(
    tx,
    highest([...published, ...drafts]).map((entity) => kind.events.changed(entity)),
  );
}

function highest(rows: readonly RevisionRow[]): SavedDraft[] {
  const byId = new Map<string, SavedDraft>();
  for (const { id, parent_id: parentId, revision } of rows) {
    const former = byId.get(id)?.revision ?? 0;
    byId.set(id, { id, parentId, revision: Math.max(former, Number(revision)) });
  }
  return [...byId.values()];
}
