import type pg from 'pg';

type Queryable = Pick<pg.ClientBase, 'query'>;

/** The name is looked up without a lock: the exchange of the indexes keeps nobody waiting who asks. */
const SIZE = `SELECT documents FROM index_size WHERE index_table = to_regclass('public.index_document')`;

/** Live documents of the live index, as its triggers have counted them. */
export async function countDocuments(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ documents: string }>(SIZE);
  return Number(rows[0]?.documents);
}

/** Begins to count what is in a table, which is empty; those that are gone are forgotten. */
export async function countFromNow(database: Queryable, table: string): Promise<void> {
  await database.query('DELETE FROM public.index_size WHERE index_table NOT IN (SELECT oid FROM pg_class)');
  await database.query('INSERT INTO public.index_size VALUES (to_regclass($1), 0)', [table]);
}
