import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type HttpClient, oneTryClient } from '../../e2e/story/http-client.ts';
import { insistentClient } from '../../e2e/story/persistent-client.ts';
import { isFull } from '../scale.ts';
import { type Databases, databasesOf } from './databases-at-rest.ts';

/** A system whose processes are killed repeatedly, and its observers. */
export interface KillWorld {
  system: TestSystem;
  author: HttpClient;
  stranger: HttpClient;
  databases: Databases;
  /** Counts how a round ended, for the one who runs the whole length. */
  count(end: string): void;
  /** Waits until the gateway has found every restarted process. */
  reached(...targets: string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startKillWorld(): Promise<KillWorld> {
  const system = await startSystem({
    settings: {
      // Shorter leases for dead owners, and longer timeouts for starting processes.
      publishLeaseMs: 1_000,
      publishScanMs: 100,
      publishReachMs: 20_000,
    },
  });
  // After a kill a service may still be restarting.
  const author = insistentClient(oneTryClient(system.baseUrl, system.token));
  const databases = databasesOf(system);
  const ends = new Map<string, number>();
  return {
    system,
    author,
    stranger: insistentClient(oneTryClient(system.baseUrl)),
    databases,
    count: (end) => void ends.set(end, (ends.get(end) ?? 0) + 1),
    async reached(...targets) {
      for (const target of targets) {
        const isReached = async () => (await author.call('GET', target)).status < 500;
        await until(isReached, { what: `an answer to GET ${target}` });
      }
    },
    async stop() {
      await databases.close();
      await system.stop();
      if (isFull) process.stdout.write(`${JSON.stringify(Object.fromEntries(ends))}\n`);
    },
  };
}
