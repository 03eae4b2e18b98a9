import type pg from 'pg';
import { type IndexChanges, type IndexedEntity, SUGGESTION_TYPES, type Tombstone } from '../search-engine.ts';
import { sqlDate } from './compile-sql.ts';
import { storableText } from './parameters.ts';
import { facetEntry } from './search-sql.ts';
import { suggestionEntry } from './suggest.ts';
import { documentTerms } from './terms-vector.ts';

/** Any number, the same for all writers: they take turns, so what they derive from each other's rows holds. */
const WRITER_LOCK = 7_160_051;

/** Writes all changes in one transaction; what is older than the index stays out. */
export async function writeChanges(
  pool: pg.Pool,
  { entities = [], unannounced = [], tombstones = [] }: IndexChanges,
): Promise<void> {
  const written = [...entities, ...unannounced];
  const parentIds = [...new Set([...written, ...tombstones].map(({ parentId }) => parentId))];
  if (parentIds.length === 0) return;
  const { rows, words } = entityRows(written);
  const marks = JSON.stringify(tombstones.map(tombstoneRow));
  const announcedIds = entities.filter(({ form }) => form === 'published').map(({ id }) => id);

  await inTurn(pool, async (client) => {
    if (tombstones.length > 0) await client.query({ name: 'bury', text: BURY, values: [marks] });
    if (written.length > 0) {
      await client.query({ name: 'upsert', text: UPSERT, values: [rows] });
      await client.query({ name: 'words', text: WORDS, values: [words] });
    }
    if (announcedIds.length > 0) {
      await client.query({ name: 'announce', text: ANNOUNCE, values: [announcedIds] });
    }
    await client.query({ name: 'derive', text: DERIVE, values: [parentIds] });
  });
}

/** Ends the filling of the index: what was kept back appears at once. */
export async function announceAll(pool: pg.Pool): Promise<void> {
  await inTurn(pool, async (client) => {
    const { rows } = await client.query<{ parent_id: string }>(
      'UPDATE index_document SET is_announced = true WHERE NOT is_announced RETURNING parent_id',
    );
    await client.query(DERIVE, [[...new Set(rows.map(({ parent_id }) => parent_id))]]);
    await client.query('UPDATE index_state SET filled_at = now()');
  });
}

async function inTurn(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${WRITER_LOCK})`);
    await work(client);
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    // The connection is dropped rather than rolled back: it may be why the transaction failed.
    client.release(true);
    throw error;
  }
}

function entityRows(entities: readonly IndexedEntity[]): { rows: string; words: string[] } {
  const words = new Set<string>();
  const rows = entities.map((entity) => {
    const terms = documentTerms(entity.document);
    for (const word of terms.words) words.add(word);
    return entityRow(entity, terms.vector);
  });
  return { rows: JSON.stringify(rows), words: [...words] };
}

function entityRow(entity: IndexedEntity, terms: string) {
  return {
    id: entity.id,
    form: entity.form,
    kind: entity.kind,
    parent_id: entity.parentId,
    managed_by: entity.managedBy,
    owner_id: entity.ownerId,
    record_access: entity.recordAccess,
    embargo_until: entity.embargoUntil,
    version_index: entity.versionIndex,
    created_at: entity.createdAt,
    updated_at: entity.updatedAt,
    revision: entity.revision,
    publication_from: entity.publicationFrom === null ? null : sqlDate(entity.publicationFrom),
    publication_to: entity.publicationTo === null ? null : sqlDate(entity.publicationTo),
    terms,
    facets: Object.entries(entity.facets).flatMap(([facet, values]) =>
      values.map((value) => storableText(facetEntry(facet, value))),
    ),
    suggestions: SUGGESTION_TYPES.flatMap((type) =>
      entity.suggestions[type].map((value) => suggestionEntry(type, value)),
    ),
    boxes: entity.boxes.map(({ west, south, east, north }) => `((${east},${north}),(${west},${south}))`),
  };
}

function tombstoneRow(tombstone: Tombstone) {
  return {
    id: tombstone.id,
    form: tombstone.form,
    kind: tombstone.kind,
    parent_id: tombstone.parentId,
    revision: tombstone.revision,
  };
}

/**
 * A row gives way to later revisions, a live one also to its own: what is beside the content may have changed.
 */
const UPSERT = `
  WITH incoming AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS x (
      id text, form text, kind text, parent_id text, managed_by text, owner_id text, record_access text,
      embargo_until timestamptz, version_index integer, created_at timestamptz, updated_at timestamptz, revision bigint,
      publication_from date, publication_to date, terms text, facets text[], suggestions text[], boxes text[]
    )
  ), written AS (
    INSERT INTO index_document AS d (
      id, form, kind, parent_id, managed_by, owner_id, record_access, embargo_until, version_index, created_at,
      updated_at, revision, publication_from, publication_to, terms, facets, suggestions, is_announced
    )
    SELECT id, form, kind, parent_id, managed_by, owner_id, record_access, embargo_until, version_index, created_at,
      updated_at, revision, publication_from, publication_to, terms::tsvector, facets, suggestions,
      form = 'draft'
    FROM incoming
    ON CONFLICT (id, form) DO UPDATE SET
      kind = excluded.kind, parent_id = excluded.parent_id, managed_by = excluded.managed_by,
      owner_id = excluded.owner_id, record_access = excluded.record_access, embargo_until = excluded.embargo_until,
      version_index = excluded.version_index, created_at = excluded.created_at, updated_at = excluded.updated_at,
      revision = excluded.revision, deleted_at = NULL, publication_from = excluded.publication_from,
      publication_to = excluded.publication_to, terms = excluded.terms, facets = excluded.facets,
      suggestions = excluded.suggestions
    WHERE excluded.revision > d.revision OR (excluded.revision = d.revision AND d.deleted_at IS NULL)
    RETURNING id, form
  ), cleared AS (
    DELETE FROM index_box b USING written w WHERE b.id = w.id AND b.form = w.form
  )
  INSERT INTO index_box (id, form, bounds)
  SELECT i.id, i.form, bounds::box
  FROM incoming i JOIN written w USING (id, form), unnest(i.boxes) AS bounds`;

/** Words stay when their documents go: one that no document has finds nothing. */
const WORDS = 'INSERT INTO index_word SELECT unnest($1::text[]) ON CONFLICT DO NOTHING';

/** Apart from the upsert: who is announced may be in the index already in a newer state than comes with the news. */
const ANNOUNCE = `
  UPDATE index_document SET is_announced = true
  WHERE id = ANY ($1::text[]) AND form = 'published' AND NOT is_announced`;

/** A mark for a form never seen is kept too: the copy it guards against may be on its way. */
const BURY = `
  WITH marks AS (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS x (
      id text, form text, kind text, parent_id text, revision bigint
    )
  ), buried AS (
    INSERT INTO index_document AS d (
      id, form, kind, parent_id, owner_id, record_access, version_index, created_at, updated_at, revision,
      deleted_at
    )
    SELECT id, form, kind, parent_id, '', 'restricted', 0, now(), now(), revision, now()
    FROM marks
    ON CONFLICT (id, form) DO UPDATE SET
      revision = excluded.revision, deleted_at = excluded.deleted_at,
      embargo_until = NULL, publication_from = NULL, publication_to = NULL, terms = '', facets = '{}',
      suggestions = '{}',
      is_latest = false, is_latest_draft = false, has_draft = false
    WHERE excluded.revision >= d.revision
    RETURNING id, form
  )
  DELETE FROM index_box b USING buried w WHERE b.id = w.id AND b.form = w.form`;

/** Publishing one version changes what its siblings are, and an open draft what its published form is. */
const DERIVE = `
  UPDATE index_document d
  SET is_latest = s.is_latest, is_latest_draft = s.is_latest_draft, has_draft = s.has_draft
  FROM (
    SELECT id, form,
      coalesce(form = 'published' AND version_index = max(version_index)
        FILTER (WHERE form = 'published' AND is_announced) OVER (PARTITION BY parent_id), false) AS is_latest,
      version_index = max(version_index) OVER (PARTITION BY parent_id) AS is_latest_draft,
      bool_or(form = 'draft') OVER (PARTITION BY id) AS has_draft
    FROM index_document
    WHERE parent_id = ANY ($1::text[]) AND deleted_at IS NULL
  ) s
  WHERE d.id = s.id AND d.form = s.form
    AND (d.is_latest, d.is_latest_draft, d.has_draft)
      IS DISTINCT FROM (s.is_latest, s.is_latest_draft, s.has_draft)`;
