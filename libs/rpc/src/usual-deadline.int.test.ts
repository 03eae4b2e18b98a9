import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { createLogger } from '@kr/telemetry';
import { type CallOptions, type Client, createClient, type Server, serve } from './index.ts';

const key = 'a-secret-of-at-least-thirty-two-characters';

let server: Server;
let client: Client<Definitions['publications']>;
beforeAll(async () => {
  const never = () => new Promise<never>(() => {});
  server = await serve({
    services: [
      {
        definition: definitions.publications,
        handlers: { Publish: never, Validate: never, ResolvePublications: never },
        callers: { gateway: 'all' },
      },
    ],
    host: '127.0.0.1',
    port: 0,
    audience: 'packages',
    callerKeys: new Map([['gateway', key]]),
    logger: createLogger('test', { write: () => {} }),
    stopTimeoutMs: 1,
  });
  client = createClient(definitions.publications, {
    address: `127.0.0.1:${server.port}`,
    audience: 'packages',
    caller: 'gateway',
    key,
    defaultTimeoutMs: 100,
  });
});
afterAll(async () => {
  client.close();
  await server.stop();
});

test.each<[CallOptions, string]>([
  [{}, 'A service did not answer within 100 ms.'],
  [{ timeoutFactor: 3 }, 'A service did not answer within 300 ms.'],
  [{ timeoutMs: 100, timeoutFactor: 3 }, 'The service is temporarily unavailable.'],
])('a timed-out call with %j reports its deadline if that is a default one', async (options, message) => {
  const call = client.publish({ id: 'p' }, servicePrincipal('gateway'), options);
  await expect(call).rejects.toMatchObject({ kind: 'unavailable', message, retryAfterMs: 1_000 });
});
