import { expect, test } from '@jest/globals';
import { startNats } from '@kr/testbed';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { ensureStream, STREAM } from './ensure-stream.ts';
import { openStream } from './open-stream.ts';

test('the stream is removed with its events, and a second removal does nothing', async () => {
  const nats = await startNats();
  const connection = await connect({ servers: nats.url });
  try {
    await ensureStream(connection);
    await using stream = await openStream(nats.url);
    await stream.remove();
    const { streams } = await jetstreamManager(connection);
    await expect(streams.info(STREAM)).rejects.toThrow('stream not found');
    await using gone = await openStream(nats.url);
    await gone.remove();
  } finally {
    await connection.close();
    await nats.stop();
  }
});

test('an unreachable server is reported at once', async () => {
  const nats = await startNats();
  await nats.stop();
  await expect(openStream(nats.url)).rejects.toThrow('refused');
});
