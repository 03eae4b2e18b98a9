import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { STREAM } from './ensure-stream.ts';

/** The stream of all events, as an operator has it in hand; disposing of it ends the connection. */
export interface OpenStream extends AsyncDisposable {
  /**
   * Removes it with all its events and consumers; services that start then make a new one, and send again what their
   * outboxes hold. For databases that were set back: of them the events of the old stream are not true.
   */
  remove(): Promise<void>;
}

/**
 * Connects and queries the stream, which may not exist.
 *
 * @param server includes the operator's user and password @throws when the server cannot be reached or
 * refuses
 */
export async function openStream(server: string): Promise<OpenStream> {
  const { host, username, password, protocol } = new URL(server);
  const connection = await connect({
    servers: host,
    name: 'restore',
    user: decodeURIComponent(username),
    pass: decodeURIComponent(password),
    maxReconnectAttempts: -1,
    ...(protocol === 'tls:' && { tls: {} }),
  });
  try {
    const { streams } = await jetstreamManager(connection);
    await streams.info(STREAM).catch(unlessGone);
    return {
      remove: async () => void (await streams.delete(STREAM).catch(unlessGone)),
      [Symbol.asyncDispose]: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

function unlessGone(error: unknown): void {
  const isGone = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
  if (!isGone) throw error;
}
