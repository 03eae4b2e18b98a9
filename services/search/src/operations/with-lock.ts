import pg from 'pg';
import { CLIENT_KEEPALIVE, SERVER_KEEPALIVE } from '../open-pool.ts';
import { pauseUnlessStopped } from './pages.ts';

/** Tasks that only one process may run at a time. Any numbers, each for one purpose. */
const LOCKS = { reindex: 7_160_052, drift: 7_160_053 } as const;

/** A lock that is lost together with its connection. */
export interface ProcessLock {
  /** Aborted when the lock is lost, or when its state is unknown. */
  lost: AbortSignal;
  /** @throws Error when the lock is lost */
  check(): Promise<void>;
}

/** The interval of checks of the connection, and the timeout of a check, in milliseconds. */
export interface LockTimeouts {
  checkEveryMs: number;
  checkTimeoutMs: number;
}

/** The process notices a lost connection before the database gives the lock to another process. */
const TIMEOUTS: LockTimeouts = { checkEveryMs: 5_000, checkTimeoutMs: 10_000 };

/**
 * Runs work that only one process may do at a time, with a lock on a separate connection.
 * @returns the result of `work`; undefined, without running it, when another process has the lock
 */
export async function withLock<Result>(
  databaseUrl: string,
  name: keyof typeof LOCKS,
  work: (lock: ProcessLock) => Promise<Result>,
  { checkEveryMs, checkTimeoutMs }: LockTimeouts = TIMEOUTS,
): Promise<Result | undefined> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: checkTimeoutMs,
    query_timeout: checkTimeoutMs,
    options: SERVER_KEEPALIVE,
    ...CLIENT_KEEPALIVE,
  });
  const lost = new AbortController();
  const ended = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  await client.connect();
  const check = async () => void (await client.query('SELECT 1'));
  const checkRegularly = async () => {
    while (!ended.signal.aborted && !lost.signal.aborted) {
      await pauseUnlessStopped(checkEveryMs, ended.signal);
      if (!ended.signal.aborted) await check().catch(() => lost.abort());
    }
  };
  try {
    const { rows } = await client.query<{ is_acquired: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS is_acquired',
      [LOCKS[name]],
    );
    if (rows[0]?.is_acquired !== true) return undefined;
    void checkRegularly();
    return await work({ lost: lost.signal, check });
  } finally {
    ended.abort();
    await client.end().catch(() => undefined);
  }
}
