import type { Pool } from 'pg';
import { openPool, type PoolLimits } from './open-pool.ts';
import { quickDatabase } from './quick-database.ts';
import type { SqlDatabase } from './sql.ts';
import { type StatementNames, statementNames } from './statement-names.ts';

/** The connections of one process to its database. */
export interface Connections {
  /** Of a Prisma client, with `adapterOptions` for its adapter, which closes it. */
  readonly pool: Pool;
  readonly adapterOptions: {
    readonly statementNameGenerator: StatementNames;
    readonly disposeExternalPool: true;
  };
  /** The same connections without the client's models. */
  readonly quick: SqlDatabase;
}

/** Connects with the first statement. A statement has one name whichever way it goes, so it is parsed once. */
export function openConnections(databaseUrl: URL, limits?: PoolLimits): Connections {
  const pool = openPool(databaseUrl, limits);
  const statementNameGenerator = statementNames();
  return {
    pool,
    adapterOptions: { statementNameGenerator, disposeExternalPool: true },
    quick: quickDatabase(pool, statementNameGenerator),
  };
}
