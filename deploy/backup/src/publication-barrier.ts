import { openSession } from './open-session.ts';

/** A publication under way ends its transaction in milliseconds. */
const MAX_WAIT_MS = 30_000;

/**
 * Does something while no publication begins, is decided or ends, so that what is seen of several databases meanwhile has
 * all of each publication or nothing. Publishing waits for as long; all else goes on.
 *
 * @param databaseUrl of the packages service, which decides about publications
 * @throws Error when a publication holds on for half a minute, or the server has let it go on meanwhile
 */
export async function withPublicationsPaused<Outcome>(
  databaseUrl: string,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const client = await openSession(databaseUrl, 'backup');
  try {
    const table = await client.query("select to_regclass('publication') is not null as is_there");
    if (table.rows[0]?.is_there !== true) return await work();
    await client.query(`begin; set local lock_timeout = ${MAX_WAIT_MS}`);
    await client.query('lock table publication in share mode');
    const outcome = await work();
    // Fails where the server has ended the session, and the lock with it.
    await client.query('commit');
    return outcome;
  } finally {
    await client.end();
  }
}
