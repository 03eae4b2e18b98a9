import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { IndexedEntity } from '../search-engine.ts';
import { CONTENT } from './index-rows.ts';
import { BUILD_SCHEMA, changeStatements, DERIVE, INTO_BUILD, inOwnTurn } from './write-changes.ts';

type Queryable = Pick<pg.ClientBase, 'query'>;

/** The name is looked up without a lock, so that the switch of the indexes does not delay it. */
const SIZE = `SELECT documents FROM index_size WHERE index_table = to_regclass('public.index_document')`;

/** Live documents of the live index, as its triggers have counted them. */
export async function countDocuments(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ documents: string }>(SIZE);
  return Number(rows[0]?.documents);
}

/** Starts to count the rows of an empty table; deleted ones are subtracted. */
async function countFromNow(database: Queryable, table: string): Promise<void> {
  await database.query('DELETE FROM public.index_size WHERE index_table NOT IN (SELECT oid FROM pg_class)');
  await database.query('INSERT INTO public.index_size VALUES (to_regclass($1), 0)', [table]);
}

/** The tables of an index, what others refer to first. */
const TABLES = ['index_document', 'index_box', 'index_facet_set', 'index_word'] as const;

/**
 * Autovacuum reads whole tables after every tenth of growth, and delays pages and the events after them; its
 * work is done at the end. Without the setting the planner uses no second process for sorting, because it ignores the terms, which are
 * stored out of line.
 */
const WHILE_BUILT = { autovacuum_enabled: 'off', 'toast.autovacuum_enabled': 'off', parallel_workers: '1' };
const settingsWhileBuilt = Object.entries(WHILE_BUILT)
  .map(([name, value]) => `${name} = ${value}`)
  .join(', ');

/** The columns of a tombstone beside those of live forms. */
const MARK = ['id', 'form', 'deleted_at', ...CONTENT].join(', ');

/** For one index at a time. */
const SORTING_MEMORY = '256MB';

/**
 * The time for which the switch of the indexes may delay searches at first, for running ones and for itself: longer
 * than most searches and much shorter than the longest. After a failure it is tried again with twice the time.
 */
const EXCHANGE_TIMEOUT_MS = 200;
/** By then every running search has ended, since none may take longer than `searchTimeoutMs`. */
const ENOUGH = 1_000;

/** The pause of the switch after this many consecutive failures. */
export function exchangeTimeoutMs(failures: number, searchTimeoutMs: number): number {
  return Math.min(EXCHANGE_TIMEOUT_MS * 2 ** failures, searchTimeoutMs + ENOUGH);
}

/**
 * Makes tables like the live ones, with the same constraints under the same names, and the indexes that writing needs. The comment of the first
 * one is the id of the build: it stays with it when it takes the place of the live one.
 *
 * @returns the id
 */
export async function beginBuild(pool: pg.Pool): Promise<string> {
  const id = randomUUID();
  await inOwnTurn(pool, async (client) => {
    await client.query(`DROP SCHEMA IF EXISTS ${BUILD_SCHEMA} CASCADE; CREATE SCHEMA ${BUILD_SCHEMA}`);
    const further = [];
    for (const table of TABLES) {
      const { rows } = await client.query<{ statement: string }>(LIKE_THE_LIVE_ONE, [table]);
      further.push(...rows.map(({ statement }) => statement));
      await client.query(
        `CREATE TABLE ${BUILD_SCHEMA}.${table}
         (LIKE public.${table} INCLUDING ALL EXCLUDING INDEXES)`,
      );
    }
    // The target of a constraint is then the table of the build.
    await client.query(`SET LOCAL search_path = ${BUILD_SCHEMA}, public`);
    for (const statement of further) await client.query(statement);
    for (const table of TABLES)
      await client.query(`ALTER TABLE ${BUILD_SCHEMA}.${table} SET (${settingsWhileBuilt})`);
    await countFromNow(client, `${BUILD_SCHEMA}.index_document`);
    await client.query(
      `INSERT INTO ${BUILD_SCHEMA}.index_document (${MARK})
       SELECT ${MARK} FROM public.index_document WHERE deleted_at IS NOT NULL`,
    );
    await client.query(`COMMENT ON TABLE ${BUILD_SCHEMA}.index_document IS '${id}'`);
  });
  return id;
}

/** Some ten megabytes. */
const MOST_KNOWN_WORDS = 200_000;

/** Writes into builds. The ids of words are cached: most words of a page were in earlier pages. */
export function buildWriter(pool: pg.Pool) {
  let known = { id: '', words: new Set<string>() };
  let pages = 0;

  /** @throws Error when it is not the one that is being built */
  return async (id: string, entities: readonly IndexedEntity[]): Promise<void> => {
    if (known.id !== id) pages = 0;
    if (known.id !== id || known.words.size > MOST_KNOWN_WORDS) known = { id, words: new Set() };
    const { words } = known;
    const writing = await changeStatements({ entities }, { replacesSame: false, knownWords: words });
    let written: readonly string[] = [];
    await inOwnTurn(pool, async (client) => {
      await demandBuild(client, id);
      await client.query(INTO_BUILD);
      written = await writing(client);
      pages += 1;
      if (isPowerOfTwo(pages)) await client.query(ANALYZE);
    });
    for (const word of written) words.add(word);
  };
}

/** The planner would read a table without statistics completely, for each page. */
const ANALYZE = `ANALYZE ${BUILD_SCHEMA}.index_document (id, form, parent_id), ${BUILD_SCHEMA}.index_box (id, form)`;

const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;

/** Whether the tables of a schema exist and belong to this build. */
export async function isBuiltAs(
  database: Queryable,
  schema: 'public' | typeof BUILD_SCHEMA,
  id: string,
): Promise<boolean> {
  const { rows } = await database.query<{ id: string | null }>(
    `SELECT obj_description(to_regclass($1), 'pg_class') AS id`,
    [`${schema}.index_document`],
  );
  return rows[0]?.id === id;
}

async function demandBuild(database: Queryable, id: string): Promise<void> {
  if (!(await isBuiltAs(database, BUILD_SCHEMA, id))) throw new Error(`the index ${id} is not being built`);
}

/**
 * Finishes builds. Concurrent searches wait; if they would wait too long, it is cancelled, and the next
 * attempt waits longer.
 */
export function buildFinisher(pool: pg.Pool, searchTimeoutMs: number) {
  let begun = { id: '', isRead: false, failures: 0 };

  /** @throws Error when it is not the index that is being built, or the switch was cancelled */
  return async (id: string, isAlone: boolean): Promise<void> => {
    if (await isBuiltAs(pool, 'public', id)) return;
    await demandBuild(pool, id);
    if (begun.id !== id) begun = { id, isRead: false, failures: 0 };
    const finishing = begun;
    await completeIndexes(pool, isAlone);
    // Once is enough, however often the exchange is tried: what events bring meanwhile is little.
    if (!finishing.isRead) await readThrough(pool);
    finishing.isRead = true;
    const timeoutMs = exchangeTimeoutMs(finishing.failures, searchTimeoutMs);
    finishing.failures += 1;
    await inOwnTurn(pool, (client) => exchange(client, id, timeoutMs));
  };
}

/** Without statistics new tables get bad plans, and the first reader of a row writes its hint bits. */
async function readThrough(pool: pg.Pool): Promise<void> {
  await pool.query(`VACUUM (ANALYZE) ${TABLES.map((table) => `${BUILD_SCHEMA}.${table}`).join(', ')}`);
}

async function exchange(client: pg.PoolClient, id: string, timeoutMs: number): Promise<void> {
  await demandBuild(client, id);
  await client.query(`SET LOCAL search_path = ${BUILD_SCHEMA}, public`);
  const { rows } = await client.query<{ parent_id: string }>(KEEP_BACK);
  await client.query(DERIVE, [rows.map(({ parent_id }) => parent_id)]);
  await client.query(`SET LOCAL lock_timeout = ${timeoutMs}`);
  const live = TABLES.map((table) => `public.${table}`).join(', ');
  await client.query(`LOCK TABLE ${live} IN ACCESS EXCLUSIVE MODE; DROP TABLE ${live}`);
  for (const table of TABLES) {
    await client.query(`ALTER TABLE ${BUILD_SCHEMA}.${table} RESET (${Object.keys(WHILE_BUILT).join(', ')})`);
    await client.query(`ALTER TABLE ${BUILD_SCHEMA}.${table} SET SCHEMA public`);
  }
  await client.query(`DROP SCHEMA ${BUILD_SCHEMA}`);
}

/** Indexes of many entries for each row are made in far less time when all rows are there. Writers do not wait for it. */
async function completeIndexes(pool: pg.Pool, isAlone: boolean): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ statement: string }>(LACKING);
    await client.query(`SET maintenance_work_mem = '${SORTING_MEMORY}'`);
    await client.query(`SET max_parallel_maintenance_workers = ${isAlone ? 1 : 0}`);
    for (const { statement } of rows) await client.query(statement);
  } finally {
    // With its settings.
    client.release(true);
  }
}

/** Forms that events wrote without their publication; pages wrote them as complete. */
const KEEP_BACK = `
  UPDATE ${BUILD_SCHEMA}.index_document d SET is_announced = false
  FROM public.index_document live
  WHERE live.id = d.id AND live.form = d.form AND live.deleted_at IS NULL AND NOT live.is_announced
    AND d.is_announced
  RETURNING d.parent_id`;

/** Keys before what refers to them, then indexes, settings and triggers. */
const LIKE_THE_LIVE_ONE = `
  SELECT statement FROM (
    SELECT CASE contype WHEN 'f' THEN 2 ELSE 1 END AS turn,
      format('ALTER TABLE ${BUILD_SCHEMA}.%I ADD CONSTRAINT %I %s', $1::text, conname, pg_get_constraintdef(oid))
        AS statement
    FROM pg_constraint
    WHERE conrelid = format('public.%I', $1::text)::regclass AND contype IN ('p', 'u', 'f')
    UNION ALL
    SELECT 3, replace(pg_get_indexdef(indexrelid), ' ON public.', ' ON ${BUILD_SCHEMA}.')
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE indrelid = format('public.%I', $1::text)::regclass AND amname = 'btree'
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
    UNION ALL
    SELECT 4, format('ALTER TABLE ${BUILD_SCHEMA}.%I SET (%s)', $1::text, array_to_string(reloptions, ', '))
    FROM pg_class
    WHERE oid = format('public.%I', $1::text)::regclass AND reloptions IS NOT NULL
    UNION ALL
    SELECT 5, replace(pg_get_triggerdef(oid), ' ON public.', ' ON ${BUILD_SCHEMA}.')
    FROM pg_trigger WHERE tgrelid = format('public.%I', $1::text)::regclass AND NOT tgisinternal
  ) AS statements
  ORDER BY turn`;

/** Indexes of the live tables that those of the build have not, after those whose making has failed there. */
const LACKING = `
  SELECT statement FROM (
    SELECT 1 AS turn, format('DROP INDEX %s', indexrelid::regclass) AS statement
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid
    WHERE c.relnamespace = '${BUILD_SCHEMA}'::regnamespace AND NOT indisvalid
    UNION ALL
    SELECT 2, regexp_replace(indexdef, '^CREATE INDEX (.*) ON public[.]', 'CREATE INDEX CONCURRENTLY \\1 ON ${BUILD_SCHEMA}.')
    FROM pg_indexes live
    WHERE schemaname = 'public' AND tablename = ANY ('{${TABLES.join(',')}}') AND NOT EXISTS (
      SELECT FROM pg_index JOIN pg_class c ON c.oid = indexrelid
      WHERE c.relnamespace = '${BUILD_SCHEMA}'::regnamespace AND c.relname = live.indexname AND indisvalid
    )
  ) AS statements
  ORDER BY turn`;
