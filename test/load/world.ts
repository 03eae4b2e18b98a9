import { seededRandom } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type JsonClient, jsonClient } from '../bench/json-client.ts';
import { openRecorder, type Recorder } from '../history/history.ts';
import { type TimedClient, timedClient } from './timed-client.ts';

/** A running system for load tests: as durable as a real one, without other clients. */
export interface World extends AsyncDisposable {
  system: TestSystem;
  repository: JsonClient;
  client: TimedClient;
  recorder: Recorder;
  random: () => number;
}

export async function openWorld(options: Parameters<typeof startSystem>[0] = {}): Promise<World> {
  const system = await startSystem({
    ownPostgres: true,
    logLevel: 'error',
    // As people run it.
    environment: { MAX_REQUESTS_IN_FLIGHT: '' },
    settings: { ownWritesWaitMs: 3_000 },
    ...options,
  });
  const repository = jsonClient(system.baseUrl, system.token);
  const client = timedClient(system.baseUrl);
  return {
    system,
    repository,
    client,
    recorder: openRecorder(),
    random: seededRandom(1),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([repository.close(), client.close()]);
      await system.stop();
    },
  };
}
