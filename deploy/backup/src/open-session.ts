import { Client } from 'pg';

const CONNECT_TIMEOUT_MS = 30_000;

/**
 * A connection without statement and idle timeouts, regardless of the server's settings.
 *
 * @throws Error when the server cannot be reached, or does not answer for half a minute
 */
export async function openSession(databaseUrl: string, name: 'backup' | 'restore'): Promise<Client> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The next statement fails; an unhandled error event would end the process.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    'set idle_in_transaction_session_timeout = 0; set transaction_timeout = 0; set statement_timeout = 0',
  );
  return client;
}
