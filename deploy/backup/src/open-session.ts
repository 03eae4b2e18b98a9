import { Client } from 'pg';

const CONNECT_TIMEOUT_MS = 30_000;

/**
 * A connection that may wait and work for as long as it takes, whatever limits the server has for others.
 *
 * @throws Error when the server is not reached, or does not answer for half a minute
 */
export async function openSession(databaseUrl: string, name: 'backup' | 'restore'): Promise<Client> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The statement that comes next fails; unheard, it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    'set idle_in_transaction_session_timeout = 0; set transaction_timeout = 0; set statement_timeout = 0',
  );
  return client;
}
