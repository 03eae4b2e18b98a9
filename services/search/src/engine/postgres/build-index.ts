import type pg from 'pg';
import { BUILD_SCHEMA, DERIVE, inOwnTurn } from './write-changes.ts';

/** The tables of an index, what others refer to first. */
const TABLES = ['index_document', 'index_box', 'index_word'] as const;

/**
 * How long the exchange of the indexes may at first keep searches waiting, for those that run and then for itself: longer
 * than most searches and much shorter than one may take. What fails is tried again with twice the time.
 */
const EXCHANGE_TIMEOUT_MS = 200;
/** By then every search that runs has come to its end, for none may take longer than `searchTimeoutMs`. */
const ENOUGH = 1_000;

/** How long the exchange waits after so many failures of it in a row. */
export function exchangeTimeoutMs(failures: number, searchTimeoutMs: number): number {
  return Math.min(EXCHANGE_TIMEOUT_MS * 2 ** failures, searchTimeoutMs + ENOUGH);
}

/** Makes tables like the live ones, with the same indexes and constraints under the same names. */
export async function beginBuild(pool: pg.Pool): Promise<void> {
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
    // What a constraint refers to is then the table of the build.
    await client.query(`SET LOCAL search_path = ${BUILD_SCHEMA}, public`);
    for (const statement of further) await client.query(statement);
    await client.query(
      `INSERT INTO ${BUILD_SCHEMA}.index_document SELECT * FROM public.index_document WHERE deleted_at IS NOT NULL`,
    );
  });
}

/** Searches that come meanwhile wait; where they would have to wait longer than `timeoutMs`, it is given up. */
export async function finishBuild(pool: pg.Pool, timeoutMs: number): Promise<void> {
  // Without numbers about them new tables are searched by bad plans.
  await pool.query(`ANALYZE ${TABLES.map((table) => `${BUILD_SCHEMA}.${table}`).join(', ')}`);
  await inOwnTurn(pool, async (client) => {
    await client.query(`SET LOCAL search_path = ${BUILD_SCHEMA}, public`);
    const { rows } = await client.query<{ parent_id: string }>(KEEP_BACK);
    await client.query(DERIVE, [rows.map(({ parent_id }) => parent_id)]);
    await client.query(`SET LOCAL lock_timeout = ${timeoutMs}`);
    const live = TABLES.map((table) => `public.${table}`).join(', ');
    await client.query(`LOCK TABLE ${live} IN ACCESS EXCLUSIVE MODE; DROP TABLE ${live}`);
    for (const table of TABLES) {
      await client.query(`ALTER TABLE ${BUILD_SCHEMA}.${table} SET SCHEMA public`);
    }
    await client.query(`DROP SCHEMA ${BUILD_SCHEMA}`);
  });
}

/** What events have brought without their publication; pages brought it as if it were known whole. */
const KEEP_BACK = `
  UPDATE ${BUILD_SCHEMA}.index_document d SET is_announced = false
  FROM public.index_document live
  WHERE live.id = d.id AND live.form = d.form AND live.deleted_at IS NULL AND NOT live.is_announced
    AND d.is_announced
  RETURNING d.parent_id`;

/** Keys before what refers to them, then indexes and settings. */
const LIKE_THE_LIVE_ONE = `
  SELECT statement FROM (
    SELECT CASE contype WHEN 'f' THEN 2 ELSE 1 END AS turn,
      format('ALTER TABLE ${BUILD_SCHEMA}.%I ADD CONSTRAINT %I %s', $1::text, conname, pg_get_constraintdef(oid))
        AS statement
    FROM pg_constraint
    WHERE conrelid = format('public.%I', $1::text)::regclass AND contype IN ('p', 'u', 'f')
    UNION ALL
    SELECT 3, replace(pg_get_indexdef(indexrelid), ' ON public.', ' ON ${BUILD_SCHEMA}.')
    FROM pg_index
    WHERE indrelid = format('public.%I', $1::text)::regclass
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
    UNION ALL
    SELECT 4, format('ALTER TABLE ${BUILD_SCHEMA}.%I SET (%s)', $1::text, array_to_string(reloptions, ', '))
    FROM pg_class
    WHERE oid = format('public.%I', $1::text)::regclass AND reloptions IS NOT NULL
  ) AS statements
  ORDER BY turn`;
