import pg from 'pg';

/** What only one process may do at a time. Any numbers, each for one purpose. */
const LOCKS = { reindex: 7_160_052, drift: 7_160_053 } as const;

/** A lock that its holder can lose: with the connection that holds it. */
export interface HeldLock {
  /** Aborted when the lock is lost. */
  lost: AbortSignal;
  /** @throws Error when the lock is lost */
  check(): Promise<void>;
}

/**
 * Does what only one process may do at a time, on a connection of its own that holds the lock.
 *
 * @returns what `work` does; undefined, without doing it, when another process is at it
 */
export async function withLock<Result>(
  databaseUrl: string,
  name: keyof typeof LOCKS,
  work: (lock: HeldLock) => Promise<Result>,
): Promise<Result | undefined> {
  const client = new pg.Client({ connectionString: databaseUrl });
  const losing = new AbortController();
  client.on('error', () => losing.abort());
  client.on('end', () => losing.abort());
  await client.connect();
  try {
    const { rows } = await client.query<{ is_held: boolean }>('SELECT pg_try_advisory_lock($1) AS is_held', [
      LOCKS[name],
    ]);
    if (rows[0]?.is_held !== true) return undefined;
    return await work({ lost: losing.signal, check: async () => void (await client.query('SELECT 1')) });
  } finally {
    await client.end().catch(() => undefined);
  }
}
