import type pg from 'pg';
import { demandKeptUp, POSTGRES } from '../kept-up-index.ts';
import {
  type IndexChanges,
  type IndexDifference,
  type IndexedEntity,
  SUGGESTION_TYPES,
  type Tombstone,
} from '../search-engine.ts';
import { sqlDate } from './compile-sql.ts';
import { storableText } from './parameters.ts';
import { facetEntry } from './search-sql.ts';
import { suggestionEntry } from './suggest.ts';
import { documentTerms } from './terms-vector.ts';

/** Any number, the same for all writers: they take turns, so what they derive from each other's rows holds. */
const WRITER_LOCK = 7_160_051;

/** Where an index is built beside the live one, with tables of the same names. */
export const BUILD_SCHEMA = 'index_build';
const INTO_BUILD = `SET LOCAL search_path = ${BUILD_SCHEMA}, public`;

/** Writes all changes in one transaction; what is older than the index stays out. */
export async function writeChanges(pool: pg.Pool, changes: IndexChanges): Promise<void> {
  if (!Object.values(changes).some((some) => some?.length > 0)) return;
  const writing = changeStatements(changes);
  await inOwnTurn(pool, (client) => intoAll(client, () => writing(client)));
}

/** Writes into the index that is being built. @throws Error when there is none */
export async function writeBuild(pool: pg.Pool, entities: readonly IndexedEntity[]): Promise<void> {
  const writing = changeStatements({ entities }, { replacesSame: false });
  await inOwnTurn(pool, async (client) => {
    if (!(await isBuilding(client))) throw new Error('no index is being built');
    await client.query(INTO_BUILD);
    await writing(client);
  });
}

/** Writes what differs anew, past the guard of change numbers, as long as it is what was seen. */
export async function mendDifferences(
  pool: pg.Pool,
  differences: readonly IndexDifference[],
  entities: readonly IndexedEntity[],
): Promise<void> {
  const seen = differences.filter(({ problem, revision }) => problem !== 'ghost' && revision !== null);
  const tombstones = differences.flatMap(({ problem, revision, ...form }) =>
    problem === 'ghost' && revision !== null ? [{ ...form, revision }] : [],
  );
  const differing = new Set(differences.map(({ id, form }) => `${form} ${id}`));
  const writing = changeStatements({
    entities: entities.filter(({ id, form }) => differing.has(`${form} ${id}`)),
    tombstones,
  });
  await inOwnTurn(pool, (client) =>
    intoAll(client, async () => {
      const { rows } = await client.query<{ parent_id: string }>(FORGET, [
        JSON.stringify(seen.map(({ id, form, revision }) => ({ id, form, revision }))),
      ]);
      await writing(client);
      await client.query(DERIVE, [rows.map(({ parent_id }) => parent_id)]);
    }),
  );
}

function changeStatements(
  { entities = [], unannounced = [], tombstones = [] }: IndexChanges,
  { replacesSame } = { replacesSame: true },
) {
  const written = [...entities, ...unannounced];
  const parentIds = [...new Set([...written, ...tombstones].map(({ parentId }) => parentId))];
  const { rows, words } = entityRows(written);
  const marks = JSON.stringify(tombstones.map(tombstoneRow));
  const announcedIds = entities.filter(({ form }) => form === 'published').map(({ id }) => id);

  return async (client: pg.PoolClient): Promise<void> => {
    if (tombstones.length > 0) await client.query({ name: 'bury', text: BURY, values: [marks] });
    if (written.length > 0) {
      await client.query({ name: 'upsert', text: UPSERT, values: [rows, replacesSame] });
      await client.query({ name: 'words', text: WORDS, values: [words] });
    }
    if (announcedIds.length > 0) {
      await client.query({ name: 'announce', text: ANNOUNCE, values: [announcedIds] });
    }
    await client.query({ name: 'derive', text: DERIVE, values: [parentIds] });
  };
}

/** The same statements for the live index, and for the one that is being built if there is any. */
async function intoAll(client: pg.PoolClient, write: () => Promise<void>): Promise<void> {
  await write();
  if (!(await isBuilding(client))) return;
  await client.query(INTO_BUILD);
  await write();
}

async function isBuilding(client: pg.PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ is_building: boolean }>({
    name: 'is-building',
    text: `SELECT to_regclass('${BUILD_SCHEMA}.index_document') IS NOT NULL AS is_building`,
  });
  return rows[0]?.is_building === true;
}

/** Ends the filling of the index: what was kept back appears at once. */
export async function announceAll(pool: pg.Pool): Promise<void> {
  await inOwnTurn(pool, async (client) => {
    await intoAll(client, async () => {
      const { rows } = await client.query<{ parent_id: string }>(
        'UPDATE index_document SET is_announced = true WHERE NOT is_announced RETURNING parent_id',
      );
      await client.query(DERIVE, [[...new Set(rows.map(({ parent_id }) => parent_id))]]);
    });
    await client.query('UPDATE index_state SET filled_at = now()');
  });
}

/** As `inTurn`, of those who write the index in this database. @throws ServiceError `unavailable` when another is kept up */
export async function inOwnTurn(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  await inTurn(pool, async (client) => {
    await demandKeptUp(client, POSTGRES);
    await work(client);
  });
}

/** In a transaction of the one writer at a time. */
export async function inTurn(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
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

/** Entities as the parameter of `INCOMING`, and the words of their texts. */
export function entityRows(entities: readonly IndexedEntity[]): { rows: string; words: string[] } {
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

/** What the index keeps of a form, beside its id. */
const COLUMNS = {
  kind: 'text',
  parent_id: 'text',
  managed_by: 'text',
  owner_id: 'text',
  record_access: 'text',
  embargo_until: 'timestamptz',
  version_index: 'integer',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  revision: 'bigint',
  publication_from: 'date',
  publication_to: 'date',
  terms: 'tsvector',
  facets: 'text[]',
  suggestions: 'text[]',
} as const;
const NAMES = Object.keys(COLUMNS);

/** The columns of one form, as a row to compare. */
export const contentOf = (alias: string): string => `(${NAMES.map((name) => `${alias}.${name}`).join(', ')})`;

/** What `entityRows` has made of entities. */
export const INCOMING = `
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS x (
    id text, form text, boxes text[], ${Object.entries(COLUMNS)
      .map(([name, type]) => `${name} ${type}`)
      .join(', ')}
  )`;

/**
 * A row gives way to later revisions, a live one also to its own if told so: what is beside the content may have changed.
 */
const UPSERT = `
  WITH incoming AS (${INCOMING}), written AS (
    INSERT INTO index_document AS d (id, form, ${NAMES.join(', ')}, is_announced)
    SELECT id, form, ${NAMES.join(', ')}, form = 'draft' FROM incoming
    ON CONFLICT (id, form) DO UPDATE SET
      ${NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}, deleted_at = NULL
    WHERE excluded.revision > d.revision OR (excluded.revision = d.revision AND d.deleted_at IS NULL AND $2)
    RETURNING id, form
  ), cleared AS (
    DELETE FROM index_box b USING written w WHERE b.id = w.id AND b.form = w.form
  )
  INSERT INTO index_box (id, form, bounds)
  SELECT i.id, i.form, bounds::box
  FROM incoming i JOIN written w USING (id, form), unnest(i.boxes) AS bounds`;

/** Words stay when their documents go: one that no document has finds nothing. */
const WORDS = 'INSERT INTO index_word SELECT unnest($1::text[]) ON CONFLICT DO NOTHING';

/** Rows, live or marks, that are still what was seen of them. */
const FORGET = `
  DELETE FROM index_document d
  USING jsonb_to_recordset($1::jsonb) AS seen (id text, form text, revision bigint)
  WHERE d.id = seen.id AND d.form = seen.form AND d.revision = seen.revision
  RETURNING d.parent_id`;

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
export const DERIVE = `
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
