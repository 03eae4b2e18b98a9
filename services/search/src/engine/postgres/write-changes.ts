import type pg from 'pg';
import { assertActive, POSTGRES } from '../active-index.ts';
import type { IndexChanges, IndexDifference, IndexedEntity, Tombstone } from '../search-engine.ts';
import { CONTENT, entityRows, INCOMING } from './index-rows.ts';

/** Any number, the same for all writers: they take turns, so what they derive from each other's rows holds. */
const WRITER_LOCK = 7_160_051;

/** Where an index is built beside the live one, with tables of the same names. */
export const BUILD_SCHEMA = 'index_build';
export const INTO_BUILD = `SET LOCAL search_path = ${BUILD_SCHEMA}, public`;

/** Writes all changes in one transaction; what is older than the index stays out. */
export async function writeChanges(pool: pg.Pool, changes: IndexChanges): Promise<void> {
  if (!Object.values(changes).some((some) => some?.length > 0)) return;
  const writing = await changeStatements(changes);
  await inOwnTurn(pool, (client) => intoAll(client, () => writing(client)));
}

/**
 * Rewrites differing forms regardless of change numbers, as long as they have not changed since the
 * comparison.
 */
export async function repairDifferences(
  pool: pg.Pool,
  differences: readonly IndexDifference[],
  entities: readonly IndexedEntity[],
): Promise<void> {
  const seen = differences.filter(({ problem, revision }) => problem !== 'ghost' && revision !== null);
  const tombstones = differences.flatMap(({ problem, revision, ...form }) =>
    problem === 'ghost' && revision !== null ? [{ ...form, revision }] : [],
  );
  const differing = new Set(differences.map(({ id, form }) => `${form} ${id}`));
  const writing = await changeStatements({
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

interface WritingRules {
  /** Whether a live form is rewritten although it has the same change number. */
  replacesSame?: boolean;
  /** Words that the index has for certain. */
  knownWords?: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Applies changes to one index; returns the words that were added, or existed already. */
export async function changeStatements(
  { entities = [], unannounced = [], tombstones = [] }: IndexChanges,
  { replacesSame = true, knownWords = NONE }: WritingRules = {},
) {
  const written = [...entities, ...unannounced];
  const parentIds = [...new Set([...written, ...tombstones].map(({ parentId }) => parentId))];
  const { rows, terms, sets, words } = await entityRows(written);
  const newWords = words.filter((word) => !knownWords.has(word));
  const marks = JSON.stringify(tombstones.map(tombstoneRow));
  const announcedIds = entities.filter(({ form }) => form === 'published').map(({ id }) => id);
  const unannouncedIds = unannounced.filter(({ form }) => form === 'published').map(({ id }) => id);

  return async (client: pg.PoolClient): Promise<readonly string[]> => {
    if (tombstones.length > 0) await client.query({ name: 'bury', text: BURY, values: [marks] });
    if (written.length > 0) {
      await client.query({ name: 'facet-sets', text: FACET_SETS, values: [sets] });
      await client.query({
        name: 'upsert',
        text: UPSERT,
        values: [rows, replacesSame, unannouncedIds, terms],
      });
      if (newWords.length > 0) await client.query({ name: 'words', text: WORDS, values: [newWords] });
    }
    if (announcedIds.length > 0) {
      await client.query({ name: 'announce', text: ANNOUNCE, values: [announcedIds] });
    }
    await client.query({ name: 'derive', text: DERIVE, values: [parentIds] });
    return newWords;
  };
}

/** The same statements for the live index, and for the one that is being built if there is any. */
async function intoAll(client: pg.PoolClient, write: () => Promise<unknown>): Promise<void> {
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

/** Ends the initial build of the index: hidden forms are shown at one moment. */
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

/**
 * As `inTurn`, of the writers of the index in this database. @throws ServiceError `unavailable` when another
 * one is maintained
 */
export async function inOwnTurn(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  await inTurn(pool, async (client) => {
    await assertActive(client, POSTGRES);
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
 * They stay as long as the index, like words. Writers are serialised, so the same ones are not added
 * concurrently.
 */
const FACET_SETS = `
  INSERT INTO index_facet_set (key, entries)
  SELECT key, entries FROM jsonb_to_recordset($1::jsonb) AS given (key text, entries text[])
  WHERE (SELECT s.id FROM index_facet_set s WHERE s.key = given.key) IS NULL`;

/**
 * A row is replaced by later revisions, a live one also by its own on request, because derived values may have changed.
 * A new one is written with the values of a form without siblings, which most are, so that it need not be written again.
 */
const UPSERT = `
  WITH incoming AS (${INCOMING}), written AS (
    INSERT INTO index_document AS d (
      id, form, ${CONTENT.join(', ')}, is_announced, is_latest, is_latest_draft, has_draft
    )
    SELECT id, form, ${CONTENT.join(', ')}, is_announced, is_announced AND form = 'published', true, form = 'draft'
    FROM (SELECT *, form = 'draft' OR id <> ALL ($3::text[]) AS is_announced FROM incoming) AS i
    ON CONFLICT (id, form) DO UPDATE SET
      ${CONTENT.map((name) => `${name} = excluded.${name}`).join(', ')}, deleted_at = NULL
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

/**
 * Separate from the upsert: an announced form may be in the index already in a newer state than the batch
 * has.
 */
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
      embargo_until = NULL, publication_from = NULL, publication_to = NULL, terms = '', facet_sets = '',
      suggestions = '{}', is_latest = false, is_latest_draft = false, has_draft = false
    WHERE excluded.revision >= d.revision
    RETURNING id, form
  )
  DELETE FROM index_box b USING buried w WHERE b.id = w.id AND b.form = w.form`;

/** The derived values of forms among the live rows of the same parent. */
export const FLAGS_OF = `
  id, form,
  coalesce(form = 'published' AND is_announced AND version_index = max(version_index)
    FILTER (WHERE form = 'published' AND is_announced) OVER (PARTITION BY parent_id), false) AS is_latest,
  version_index = max(version_index) OVER (PARTITION BY parent_id) AS is_latest_draft,
  bool_or(form = 'draft') OVER (PARTITION BY id) AS has_draft`;

/** Publishing one version changes what its siblings are, and an open draft what its published form is. */
export const DERIVE = `
  UPDATE index_document d
  SET is_latest = s.is_latest, is_latest_draft = s.is_latest_draft, has_draft = s.has_draft
  FROM (
    SELECT ${FLAGS_OF}
    FROM index_document
    WHERE parent_id = ANY ($1::text[]) AND deleted_at IS NULL
  ) s
  WHERE d.id = s.id AND d.form = s.form
    AND (d.is_latest, d.is_latest_draft, d.has_draft)
      IS DISTINCT FROM (s.is_latest, s.is_latest_draft, s.has_draft)`;
