import { promises as dns } from 'node:dns';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { SCOPES } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { createLogger } from '@kr/telemetry';
import { type Client, createClient, type Server, serve } from './index.ts';

const key = 'a-secret-of-at-least-thirty-two-characters';
const logger = createLogger('rpc-test');
logger.level = 'silent';
const principal = {
  userId: '7',
  isAdmin: false,
  scopes: SCOPES,
  grants: [],
  service: null,
  requestId: 'q1',
};

const opened: { stop?: () => Promise<void>; close?: () => void }[] = [];
afterEach(async () => {
  for (const { stop, close } of opened.splice(0).reverse()) {
    close?.();
    await stop?.();
  }
  jest.restoreAllMocks();
});

interface Place {
  host?: string;
  port?: number;
}

/** A process of a service that answers with its name. */
async function start(name: string, { host = '127.0.0.1', port = 0 }: Place = {}): Promise<Server> {
  const server = await serve({
    services: [
      {
        definition: definitions.publications,
        handlers: {
          Publish: async () => ({ publicationId: name }),
          Validate: async () => ({ problems: [] }),
          ResolvePublications: () => delay(2_000, { decisions: [] }),
        },
        callers: { gateway: 'all' },
      },
    ],
    host,
    port,
    audience: 'packages',
    callerKeys: new Map([['gateway', key]]),
    logger,
  });
  opened.push(server);
  return server;
}

function connect(address: string, lookupEveryMs = 60_000): Client<Definitions['publications']> {
  const client = createClient(definitions.publications, {
    address,
    audience: 'packages',
    caller: 'gateway',
    key,
    defaultTimeoutMs: 60_000,
    lookupEveryMs,
  });
  opened.push(client);
  return client;
}

/** The servers of successive calls, until the expected ones answered, for a minute at most. */
async function heard(
  client: Client<Definitions['publications']>,
  isEnough: (names: ReadonlySet<string>) => boolean,
): Promise<Set<string>> {
  const deadline = Date.now() + 60_000;
  const names = new Set<string>();
  while (!isEnough(names)) {
    if (Date.now() > deadline) throw new Error(`in a minute only ${[...names]} answered`);
    names.add((await client.publish({ id: 'p' }, principal)).publicationId);
    await delay(20);
  }
  return names;
}

describe('a service of several processes', () => {
  test('distributes calls over the addresses of a list, and continues without unreachable ones', async () => {
    const first = await start('first');
    const second = await start('second');
    const client = connect(`127.0.0.1:${first.port},127.0.0.1:${second.port}`);
    await heard(client, (names) => names.has('first') && names.has('second'));

    await first.stop();
    const answered = await Promise.all(Array.from({ length: 50 }, () => client.publish({}, principal)));
    expect(new Set(answered.map(({ publicationId }) => publicationId))).toEqual(new Set(['second']));

    await start('first again', { port: first.port });
    await heard(client, (names) => names.has('first again') && names.has('second'));
  });

  // Several addresses with one port on one machine are something that Linux has.
  const onLinux = process.platform === 'linux' ? test : test.skip;
  onLinux('gets calls to a process that was added under its name, and fails none for it', async () => {
    const lookup = jest.spyOn(dns, 'lookup') as unknown as jest.Mock<() => Promise<object[]>>;
    const found = (...hosts: string[]) =>
      lookup.mockImplementation(async () => hosts.map((address) => ({ address, family: 4 })));
    found('127.0.0.1');
    const { port } = await start('first');
    const client = connect(`packages.example:${port}`, 500);
    await heard(client, (names) => names.has('first'));
    // A call that is under way when the name is looked up again ends where it began.
    const long = client.resolvePublications({ publicationIds: [] }, principal);

    await start('second', { host: '127.0.0.2', port });
    found('127.0.0.1', '127.0.0.2');
    await heard(client, (names) => names.has('second'));
    expect(await long).toEqual({ decisions: [] });
  });

  onLinux('loses no call between two lookups of its name', async () => {
    const lookup = jest.spyOn(dns, 'lookup') as unknown as jest.Mock<() => Promise<object[]>>;
    lookup.mockImplementation(async () => [{ address: '127.0.0.1', family: 4 }]);
    const { port } = await start('only');
    const client = connect(`packages.example:${port}`, 1);
    const callOn = async (): Promise<void> => {
      while (lookup.mock.calls.length < 100) await client.publish({}, principal);
    };
    await Promise.all([callOn(), callOn(), callOn()]);
    expect(await client.publish({}, principal)).toMatchObject({ publicationId: 'only' });
  });

  onLinux('stays with those it has while its name cannot be looked up', async () => {
    const lookup = jest.spyOn(dns, 'lookup') as unknown as jest.Mock<() => Promise<object[]>>;
    lookup.mockImplementation(async () => [{ address: '127.0.0.1', family: 4 }]);
    const { port } = await start('only');
    const client = connect(`packages.example:${port}`, 1);
    await client.publish({}, principal);
    lookup.mockClear();
    lookup.mockImplementation(async () => {
      throw new Error('no such name');
    });
    while (lookup.mock.calls.length < 3) await client.publish({}, principal);
  });
});
