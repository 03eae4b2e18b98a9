import {
  type Head,
  type Heads,
  keyOf,
  type Operation,
  type StateFilter,
  type Transaction,
} from '../search-engine.ts';
import { COLUMNS, type EncodedRow, vectorArray } from './encode-row.ts';
import { schemaOf } from './tables.ts';

const HEAD = `
  id, form, kind, parent_id AS "parentId", revision::text AS revision, version_index AS "versionIndex",
  content_hash AS "contentHash", deleted_at IS NOT NULL AS "isDeleted", is_staged AS "isStaged",
  is_latest AS "isLatest", is_latest_draft AS "isLatestDraft", has_draft AS "hasDraft"`;

/** The statements of a writer have no schema, so that they are planned once. */
export async function useSchema(tx: Transaction, generation: string): Promise<void> {
  await tx.query(`SET LOCAL search_path = ${schemaOf(generation)}, public`);
}

/** All forms of these ids and parents. */
export async function readHeads(
  database: Transaction,
  generation: string,
  { ids, parentIds }: { ids: readonly string[]; parentIds: readonly string[] },
): Promise<Heads> {
  const { rows } = await database.query<Omit<Head, 'version'>>(
    `SELECT ${HEAD} FROM ${schemaOf(generation)}.index_document
     WHERE id = ANY ($1::text[]) OR parent_id = ANY ($2::text[])`,
    [ids, parentIds],
  );
  return new Map(rows.map((row) => [keyOf(row), { ...row, version: null }]));
}

/** As `SearchEngine.states`. */
export async function readStates(
  database: Transaction,
  generation: string,
  { kind, isDeleted, isStaged, embargoEndedBy, deletedBefore }: StateFilter,
  after: Pick<Head, 'id' | 'form'> | null,
  limit: number,
): Promise<Head[]> {
  const values: unknown[] = [after?.id ?? '', after?.form ?? '', limit];
  const add = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    '(id, form) > ($1, $2)',
    ...(kind === undefined ? [] : [`kind = ${add(kind)}`]),
    ...(isDeleted === undefined ? [] : [`deleted_at IS ${isDeleted ? 'NOT NULL' : 'NULL'}`]),
    ...(isStaged === undefined ? [] : [isStaged ? 'is_staged' : 'NOT is_staged']),
    ...(embargoEndedBy === undefined ? [] : [`embargo_until <= ${add(embargoEndedBy)}`]),
    ...(deletedBefore === undefined ? [] : [`deleted_at < ${add(deletedBefore)}`]),
  ];
  const { rows } = await database.query<Omit<Head, 'version'>>(
    `SELECT ${HEAD} FROM ${schemaOf(generation)}.index_document
     WHERE ${conditions.join(' AND ')} ORDER BY id, form LIMIT $3`,
    values,
  );
  return rows.map((row) => ({ ...row, version: null }));
}

/** Executes operations in the schema of the search path. */
export async function execute(tx: Transaction, operations: readonly Operation<EncodedRow>[]): Promise<void> {
  const contents: { head: Head; content: EncodedRow }[] = [];
  const heads: Record<'tombstone' | 'flags' | 'remove', Head[]> = { tombstone: [], flags: [], remove: [] };
  for (const { head, change } of operations) {
    if (typeof change === 'string') heads[change].push(head);
    else contents.push({ head, content: change.content });
  }
  if (heads.remove.length > 0) await run(tx, 'remove', REMOVE, heads.remove.map(keyColumns));
  if (heads.tombstone.length > 0) await run(tx, 'bury', BURY, heads.tombstone.map(tombstoneColumns));
  if (contents.length > 0) await writeContents(tx, contents);
  if (heads.flags.length > 0)
    await run(
      tx,
      'flags',
      UPDATE_FLAGS,
      heads.flags.map((head) => ({ ...keyColumns(head), ...flagColumns(head) })),
    );
}

async function run(tx: Transaction, name: string, text: string, rows: readonly object[]): Promise<void> {
  await tx.query({ name, text, values: [JSON.stringify(rows)] });
}

async function writeContents(
  tx: Transaction,
  contents: readonly { head: Head; content: EncodedRow }[],
): Promise<void> {
  const sets = new Map(contents.flatMap(({ content }) => content.sets.map((set) => [set.key, set])));
  const words = new Set(contents.flatMap(({ content }) => content.words));
  await run(tx, 'facet-sets', FACET_SETS, [...sets.values()]);
  await tx.query({
    name: 'write',
    text: WRITE,
    values: [
      `[${contents.map(({ content }) => content.json).join(',')}]`,
      JSON.stringify(contents.map(({ head }) => flagColumns(head))),
      vectorArray(contents.map(({ content }) => content.terms)),
    ],
  });
  await tx.query({ name: 'words', text: WORDS, values: [[...words]] });
}

const keyColumns = ({ id, form }: Head) => ({ id, form });

const tombstoneColumns = (head: Head) => ({
  ...keyColumns(head),
  kind: head.kind,
  parent_id: head.parentId,
  revision: head.revision,
  is_staged: head.isStaged,
});

const flagColumns = ({ isStaged, isLatest, isLatestDraft, hasDraft }: Head) => ({
  is_staged: isStaged,
  is_latest: isLatest,
  is_latest_draft: isLatestDraft,
  has_draft: hasDraft,
});

const FLAGS = ['is_staged', 'is_latest', 'is_latest_draft', 'has_draft'];
const TYPED_FLAGS = FLAGS.map((name) => `${name} boolean`).join(', ');

/** Sets stay as long as the generation, like words. There is one writer at a time, so a set is never added twice. */
const FACET_SETS = `
  INSERT INTO index_facet_set (key, entries)
  SELECT key, entries FROM jsonb_to_recordset($1::jsonb) AS incoming (key text, entries text[])
  WHERE (SELECT s.id FROM index_facet_set s WHERE s.key = incoming.key) IS NULL`;

const INCOMING = Object.entries({ ...COLUMNS, boxes: 'text[]', facet_keys: 'text[]' });
const WRITTEN = [...Object.keys(COLUMNS), 'terms', 'facet_sets', ...FLAGS];

/**
 * Parameters: columns and flags as JSON, terms. Each facet set is looked up separately: a join would read all sets for each
 * row if the planner expects few.
 */
const WRITE = `
  WITH incoming AS MATERIALIZED (
    SELECT *, (
      SELECT string_agg((SELECT s.id FROM index_facet_set s WHERE s.key = k.key) || ' ', '' ORDER BY position)
      FROM unnest(x.facet_keys) WITH ORDINALITY AS k (key, position)
    ) AS facet_sets
    FROM ROWS FROM (
      jsonb_to_recordset($1::jsonb) AS (${INCOMING.map(([name, type]) => `${name} ${type}`).join(', ')}),
      jsonb_to_recordset($2::jsonb) AS (${TYPED_FLAGS}),
      unnest($3::tsvector[])
    ) AS x (${[...INCOMING.map(([name]) => name), ...FLAGS].join(', ')}, terms)
  ), written AS (
    INSERT INTO index_document (${WRITTEN.join(', ')})
    SELECT ${WRITTEN.join(', ')} FROM incoming
    ON CONFLICT (id, form) DO UPDATE SET
      ${WRITTEN.map((name) => `${name} = excluded.${name}`).join(', ')}, deleted_at = NULL
  ), cleared AS (
    DELETE FROM index_box b USING incoming i WHERE b.id = i.id AND b.form = i.form
  )
  INSERT INTO index_box (id, form, bounds)
  SELECT i.id, i.form, bounds::box FROM incoming i, unnest(i.boxes) AS bounds`;

/** Words stay when their documents go: a word that no document has finds nothing. */
const WORDS = `
  INSERT INTO index_word SELECT incoming FROM unnest($1::text[]) AS incoming
  WHERE NOT EXISTS (SELECT FROM index_word w WHERE w.word = incoming)
  ON CONFLICT DO NOTHING`;

const BURY = `
  WITH buried AS (
    INSERT INTO index_document (
      id, form, kind, parent_id, revision, is_staged, owner_id, record_access, version_index, created_at, updated_at,
      deleted_at
    )
    SELECT id, form, kind, parent_id, revision, is_staged, '', 'restricted', 0, now(), now(), now()
    FROM jsonb_to_recordset($1::jsonb) AS incoming (
      id text, form text, kind text, parent_id text, revision bigint, is_staged boolean
    )
    ON CONFLICT (id, form) DO UPDATE SET
      revision = excluded.revision, deleted_at = excluded.deleted_at, is_staged = excluded.is_staged, version_index = 0,
      embargo_until = NULL, publication_from = NULL, publication_to = NULL, terms = '', facet_sets = '',
      content_hash = '', suggestions = '{}', is_latest = false, is_latest_draft = false, has_draft = false
    RETURNING id, form
  )
  DELETE FROM index_box b USING buried w WHERE b.id = w.id AND b.form = w.form`;

const UPDATE_FLAGS = `
  UPDATE index_document d SET ${FLAGS.map((name) => `${name} = incoming.${name}`).join(', ')}
  FROM jsonb_to_recordset($1::jsonb) AS incoming (id text, form text, ${TYPED_FLAGS})
  WHERE d.id = incoming.id AND d.form = incoming.form`;

const REMOVE = `
  DELETE FROM index_document d USING jsonb_to_recordset($1::jsonb) AS incoming (id text, form text)
  WHERE d.id = incoming.id AND d.form = incoming.form`;
