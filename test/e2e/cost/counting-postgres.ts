import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@kr/local-stack/backends';
import pg from 'pg';

/** How often each statement was run, by its text without values. */
export type StatementCounts = ReadonlyMap<string, number>;

export interface CountingPostgres {
  /** Superuser URL. */
  url: string;
  /** The statements of the owners of these databases since their creation. */
  counts(databases: readonly string[]): Promise<StatementCounts>;
  stop(): Promise<void>;
}

/** A Postgres that counts the statements of everybody who owns a database, BEGIN and COMMIT included. */
export async function startCountingPostgres(): Promise<CountingPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'kr-counting-postgres-'));
  const options = {
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    password: 'test',
    durability: 'fast',
  } as const;
  const plain = await startPostgres(options);
  await once(plain.url, 'alter system set shared_preload_libraries = pg_stat_statements');
  await plain.stop();
  const running = await startPostgres(options);
  await once(running.url, 'create extension pg_stat_statements');
  const client = new pg.Client({ connectionString: running.url });
  await client.connect();
  return {
    url: running.url,
    counts: async (databases) => {
      const { rows } = await client.query<{ text: string; calls: string }>(
        `select d.datname || ': ' || regexp_replace(s.query, '\\s+', ' ', 'g') as text, sum(s.calls) as calls
         from pg_stat_statements s
         join pg_database d on d.oid = s.dbid and d.datdba = s.userid
         where d.datname = any($1::text[]) group by 1`,
        [databases],
      );
      return new Map(rows.map(({ text, calls }) => [text, Number(calls)]));
    },
    stop: async () => {
      await client.end();
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function once(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}
