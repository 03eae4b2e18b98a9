import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { type BusConnection, connectBus } from '@kr/event-bus';
import { createClient } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

const SERVICES = ['gateway', 'records', 'packages', 'files', 'access-links', 'search'] as const;
type Service = (typeof SERVICES)[number];
type Caller = Service | 'operator';
const CALLERS: readonly Caller[] = [...SERVICES, 'operator'];

const OF_THE_INDEX = ['FetchForIndex', 'ListIds', 'AwaitEventsSent'];
const OF_THE_OPERATOR = ['DescribeIndex', 'StartReindex', 'CheckDrift'];
const OF_RECORDS = ['RemoveDeletedRecords', 'ListVersionResources'];
const OF_PEERS = ['FindIds', 'FindDois'];
const OF_PUBLICATIONS = ['SealBuckets', 'ApplyDecisionToBuckets'];

/** The permitted callers of every RPC: RPCs without an entry belong to the first caller. */
const RPCS: Record<Service, Partial<Record<keyof Definitions, (rpc: string) => readonly Caller[]>>> = {
  gateway: { identity: () => ['operator'] },
  records: {
    lifecycle: (rpc) => {
      if (OF_THE_INDEX.includes(rpc)) return ['search'];
      if (rpc === 'FindIds') return ['packages', 'files'];
      if (OF_PEERS.includes(rpc)) return ['packages'];
      return rpc === 'Authorise' ? ['gateway', 'packages'] : ['gateway'];
    },
    records: () => ['packages'],
    deadLetters: () => ['operator'],
  },
  packages: {
    lifecycle: (rpc) => {
      if (OF_THE_INDEX.includes(rpc)) return ['search'];
      if (rpc === 'FindIds') return ['records', 'files'];
      return OF_PEERS.includes(rpc) ? ['records'] : ['gateway'];
    },
    packages: (rpc) => (OF_RECORDS.includes(rpc) ? ['records'] : ['gateway']),
    publications: (rpc) => (rpc === 'ResolvePublications' ? ['records', 'files'] : ['gateway']),
    publicationReports: () => ['operator'],
    deadLetters: () => ['operator'],
  },
  files: {
    files: (rpc) => {
      if (rpc === 'DescribeBuckets') return ['records', 'packages'];
      return OF_PUBLICATIONS.includes(rpc) ? ['packages'] : ['gateway'];
    },
    filesOperations: () => ['operator'],
    deadLetters: () => ['operator'],
  },
  'access-links': {
    accessLinks: (rpc) => (rpc === 'ListParentLinks' ? ['records', 'packages'] : ['gateway']),
  },
  search: {
    search: (rpc) => (OF_THE_OPERATOR.includes(rpc) ? ['operator'] : ['gateway']),
    deadLetters: () => ['operator'],
  },
};

const TELLS: readonly Service[] = ['records', 'packages', 'files', 'access-links'];
const DURABLES: Partial<Record<Service, readonly string[]>> = {
  records: ['records-follow-packages', 'records-follow-links', 'records-clear-deleted-previews'],
  packages: ['packages-drop-deleted-records', 'packages-follow-links', 'packages-clear-deleted-previews'],
  files: ['files-remove-buckets'],
  search: ['search-index'],
};

let system: SharedSystem;
const opened: { close(): unknown }[] = [];

beforeAll(async () => {
  system = await sharedSystem();
});
afterAll(async () => {
  for (const one of opened) await one.close();
  await system?.stop();
});

function variable(service: Service, name: string): string {
  const value = system.environments[service][name];
  if (value === undefined) throw new Error(`${service} has no ${name}`);
  return value;
}

/** The key of a caller for a callee, or, if it has none, one that it has for another callee. */
function keyFor(callee: Service, caller: Caller): string {
  const name = `${callee.toUpperCase().replace('-', '_')}_KEY`;
  if (caller === 'operator') return /operator=([^,]+)/.exec(variable(callee, 'CALLER_KEYS'))?.[1] ?? '';
  const own = system.environments[caller][name];
  return own ?? system.environments[caller]['PACKAGES_KEY'] ?? 'x'.repeat(43);
}

type AnyClient = Record<string, (request: object, principal: object) => Promise<unknown>>;

/** Whether the call reached its handler. */
async function isTaken(client: AnyClient, rpc: string): Promise<boolean> {
  try {
    await client[rpc.charAt(0).toLowerCase() + rpc.slice(1)]?.({}, servicePrincipal('packages'));
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.message === 'The caller is unknown.') return false;
    return !(error.kind === 'forbidden' && error.message.endsWith('may not call this.'));
  }
}

test('no process reaches an RPC that is not for it', async () => {
  const taken: string[] = [];
  const expected: string[] = [];
  let tried = 0;
  for (const callee of SERVICES) {
    for (const name of Object.keys(RPCS[callee]) as (keyof Definitions)[]) {
      const callersOf = RPCS[callee][name];
      const definition: object = definitions[name];
      for (const caller of CALLERS) {
        const client = createClient(definition, {
          address: `127.0.0.1:${variable(callee, 'GRPC_PORT')}`,
          audience: callee,
          caller,
          key: keyFor(callee, caller),
          defaultTimeoutMs: 60_000,
        });
        opened.push(client);
        for (const rpc of Object.keys(definition)) {
          const call = `${caller} -> ${callee} ${name}.${rpc}`;
          tried += 1;
          if (callersOf?.(rpc).includes(caller)) expected.push(call);
          if (await isTaken(client as unknown as AnyClient, rpc)) taken.push(call);
        }
      }
    }
  }
  expect(taken).toEqual(expected);
  expect(tried).toBeGreaterThan(500);
});

function busOf(user: Service, url = variable(user, 'NATS_URL'), said: string[] = []): BusConnection {
  const logger = createLogger('test', { write: (line) => void said.push(line) });
  const bus = connectBus({ servers: url, name: user, logger });
  opened.push(bus);
  return bus;
}

/** `refused`, or what the server answered. */
async function requested(bus: BusConnection, subject: string): Promise<string> {
  const connection = await bus.whenUp();
  try {
    return (await connection.request(subject, '', { timeout: 60_000 })).string();
  } catch (error) {
    const causes = [error, (error as Error).cause].map((one) => (one as Error | undefined)?.name);
    if (causes.includes('PermissionViolationError')) return 'refused';
    throw error;
  }
}

function withholds(service: Service): string[] {
  const others = SERVICES.filter((other) => other !== service);
  const foreign = others.flatMap((other) => DURABLES[other] ?? []);
  return [
    ...others.map((other) => `knowledge.${other}.probe`),
    ...(TELLS.includes(service) ? [] : [`knowledge.${service}.probe`]),
    ...foreign.flatMap((durable) => [
      `$JS.API.CONSUMER.INFO.KNOWLEDGE.${durable}`,
      `$JS.API.CONSUMER.MSG.NEXT.KNOWLEDGE.${durable}`,
      `$JS.API.CONSUMER.CREATE.KNOWLEDGE.${durable}`,
      `$JS.API.CONSUMER.DURABLE.CREATE.KNOWLEDGE.${durable}`,
      `$JS.ACK.KNOWLEDGE.${durable}.1.1.1.1.1`,
    ]),
    ...Object.values(DURABLES).flatMap((durables) =>
      durables.map((durable) => `$JS.API.CONSUMER.DELETE.KNOWLEDGE.${durable}`),
    ),
    ...['UPDATE', 'DELETE', 'PURGE', 'MSG.DELETE', 'SNAPSHOT'].map(
      (verb) => `$JS.API.STREAM.${verb}.KNOWLEDGE`,
    ),
    '$JS.API.STREAM.CREATE.OTHER',
    '$JS.API.STREAM.LIST',
    '$SYS.REQ.SERVER.PING',
    `_INBOX_${others[0]}.anything`,
  ];
}

test.each(SERVICES)('on the bus %s does what is its own, and nothing else', async (service) => {
  const bus = busOf(service);
  const allowed: string[] = [];
  for (const subject of withholds(service)) {
    if ((await requested(bus, subject)) !== 'refused') allowed.push(subject);
  }
  expect(allowed).toEqual([]);
  for (const durable of DURABLES[service] ?? []) {
    expect(await requested(bus, `$JS.API.CONSUMER.INFO.KNOWLEDGE.${durable}`)).toContain(
      `"name":"${durable}"`,
    );
  }

  const connection = await bus.whenUp();
  const heard: string[] = [];
  for (const subject of [
    '>',
    'knowledge.>',
    '$JS.API.>',
    '_INBOX_>',
    `_INBOX_${SERVICES.find((s) => s !== service)}.>`,
  ]) {
    const subscription = connection.subscribe(subject);
    const closed = subscription.closed;
    await connection.flush();
    const end = await Promise.race([closed.then(() => 'closed'), connection.flush().then(() => 'open')]);
    if (end === 'open') heard.push(subject);
    subscription.unsubscribe();
  }
  expect(heard).toEqual([]);
});

test('the bus refuses connections without a name and its password', async () => {
  for (const user of ['', 'records:wrong@', 'nobody:wrong@']) {
    const said: string[] = [];
    const bus = busOf('records', `nats://${user}${new URL(variable('records', 'NATS_URL')).host}`, said);
    let isLetIn = false;
    bus.onChange((isUp) => {
      isLetIn ||= isUp;
    });
    await until(() => isLetIn || said.some((line) => /Authorization Violation/i.test(line)), {
      what: 'an answer',
    });
    expect({ user, isLetIn }).toEqual({ user, isLetIn: false });
  }
});

test('nothing that users send makes a service call elsewhere', async () => {
  let calls = 0;
  const elsewhere = createServer((socket) => {
    calls += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const url = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/x`;
  try {
    const owner = httpClient(system.baseUrl, system.token);
    const metadata = {
      publisher: url,
      description: `<img src="${url}"><a href="${url}">there</a>`,
      creators: [
        {
          person_or_org: { type: 'organizational', name: url },
          affiliations: [{ name: url }],
        },
      ],
      identifiers: [{ identifier: url, scheme: 'url' }],
      related_identifiers: [{ identifier: url, scheme: 'url', relation_type: { id: 'cites' } }],
      rights: [{ title: { en: url }, link: url }],
      subjects: [{ subject: url }],
      references: [{ reference: url }],
      version: url,
    };
    const all = { 'x-forwarded-host': url, forwarded: `host=${url}`, referer: url, origin: url };
    for (const kind of ['records', 'packages'] as const) {
      const document = kind === 'records' ? recordDocument : packageDocument;
      const draft = await owner.sure<Entity>('POST', `/${kind}`, {
        json: document(url, { metadata }),
        headers: all,
      });
      await owner.sure('POST', link(draft, 'access_links'), { json: { permission: 'view' }, headers: all });
      await publish(owner, draft);
      await owner.call('POST', `/${kind}`, {
        json: everyTextIs(url, document(url, { metadata })),
        headers: all,
      });
      await owner.call('GET', `/${kind}?q=${encodeURIComponent(`"${url}"`)}&bbox=${encodeURIComponent(url)}`);
    }
    expect(calls).toBe(0);
    await fetch(url).catch(() => undefined);
    expect(calls).toBe(1);
  } finally {
    elsewhere.close();
  }
});

function everyTextIs(text: string, value: unknown): unknown {
  if (typeof value === 'string') return text;
  if (Array.isArray(value)) return value.map((item) => everyTextIs(text, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, everyTextIs(text, item)]));
}
