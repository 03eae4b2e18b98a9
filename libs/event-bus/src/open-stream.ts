import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { connectionOptions } from './bus-connection.ts';
import { STREAM, undefinedIfMissing } from './ensure-stream.ts';

/** An operator's access to the stream of all events; disposal ends the connection. */
export interface OpenStream extends AsyncDisposable {
  /**
   * Deletes the stream with all its events and consumers. Services that start afterwards create a new one and send the
   * events of their outboxes again. Required after a restore: the old stream has events of changes that were undone.
   */
  remove(): Promise<void>;
}

/**
 * Connects and reads the stream, which may not exist.
 *
 * @param server includes the operator's user and password
 * @throws Error when the server cannot be reached or rejects the request
 */
export async function openStream(server: string): Promise<OpenStream> {
  const connection = await connect(connectionOptions(server, 'restore'));
  try {
    const { streams } = await jetstreamManager(connection);
    await streams.info(STREAM).catch(undefinedIfMissing);
    return {
      remove: async () => void (await streams.delete(STREAM).catch(undefinedIfMissing)),
      [Symbol.asyncDispose]: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
