import { openPool, type PoolLimits } from './open-pool.ts';
import { quickDatabase } from './quick-database.ts';
import type { SqlDatabase } from './sql.ts';
import { statementNames } from './statement-names.ts';

/** The database of one process, through one pool of connections. */
export interface Database extends SqlDatabase {
  /** Waits for statements that are under way. */
  close(): Promise<void>;
}

/** Connects with the first statement. */
export function openDatabase(databaseUrl: URL, limits?: PoolLimits): Database {
  const pool = openPool(databaseUrl, limits);
  return { ...quickDatabase(pool, statementNames()), close: () => pool.end() };
}
