import pg from 'pg';
import { pauseUnlessStopped } from '../consume/pages.ts';

/** Tasks that only one process may run at a time. Any numbers, each for one purpose. */
const LOCKS = { reindex: 7_160_052, drift: 7_160_053 } as const;

/** A lock that its holder can lose: with the connection that holds it. */
export interface HeldLock {
  /** Aborted when the lock is lost, or when its state is unknown. */
  lost: AbortSignal;
  /** @throws Error when the lock is lost */
  check(): Promise<void>;
}

/** In milliseconds: the interval at which the holder checks the lock, and the timeout of a check. */
export interface LockPatience {
  askEveryMs: number;
  answerWithinMs: number;
}

/** The holder notices that the database is away before the database gives the lock to another. */
const PATIENCE: LockPatience = { askEveryMs: 5_000, answerWithinMs: 10_000 };
/** In seconds. Otherwise a database that cannot reach a holder keeps the lock for hours. */
const SILENCE = 'SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4';

/**
 * Runs work that only one process may do at a time, on a separate connection that holds the lock.
 * @returns the result of `work`; undefined, without running it, when another process has the lock
 */
export async function withLock<Result>(
  databaseUrl: string,
  name: keyof typeof LOCKS,
  work: (lock: HeldLock) => Promise<Result>,
  { askEveryMs, answerWithinMs }: LockPatience = PATIENCE,
): Promise<Result | undefined> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: answerWithinMs,
    query_timeout: answerWithinMs,
    keepAlive: true,
  });
  const losing = new AbortController();
  const over = new AbortController();
  client.on('error', () => losing.abort());
  client.on('end', () => losing.abort());
  await client.connect();
  const check = async () => void (await client.query('SELECT 1'));
  const asking = async () => {
    while (!over.signal.aborted && !losing.signal.aborted) {
      await pauseUnlessStopped(askEveryMs, over.signal);
      if (!over.signal.aborted) await check().catch(() => losing.abort());
    }
  };
  try {
    await client.query(SILENCE);
    const { rows } = await client.query<{ is_held: boolean }>('SELECT pg_try_advisory_lock($1) AS is_held', [
      LOCKS[name],
    ]);
    if (rows[0]?.is_held !== true) return undefined;
    void asking();
    return await work({ lost: losing.signal, check });
  } finally {
    over.abort();
    await client.end().catch(() => undefined);
  }
}
