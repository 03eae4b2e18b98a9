import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { anonymous, type Principal } from '@kr/caller';
import { definitions } from '@kr/contracts';
import { sqlOn } from '@kr/database';
import {
  appendEvents,
  connectBus,
  ensureStream,
  MIGRATIONS,
  newEvent,
  type OutboxEvent,
  type Relay,
  startRelay,
} from '@kr/event-bus';
import { createClient, serve } from '@kr/rpc';
import { migrate } from '@kr/schema-migration';
import { createLogger } from '@kr/telemetry';
import { freshDatabase, startNats, until } from '@kr/testbed';
import pg from 'pg';
import { openPostgresIndex } from './index/testing/a-postgres-index.ts';
import { anEntity, anIndexDocument, type EntityTraits } from './index/testing/an-entity.ts';
import type { PatientIndex } from './index/testing/tested-index.ts';
import { startSearchService } from './service.ts';

const key = () => randomBytes(24).toString('hex');
const KEYS = { search: key(), records: key(), packages: key() };
const ANN: Principal = { ...anonymous('request'), userId: 'ann' };
const logger = createLogger('test', new Writable({ write: (_chunk, _encoding, done) => done() }));

/** Serves `entities` as the records and packages services would. */
async function startPeer(
  audience: 'records' | 'packages',
  entities: EntityTraits[],
  whenSent: () => Promise<boolean>,
) {
  const server = await serve({
    services: [
      {
        definition: {
          FetchForIndex: definitions.lifecycle.FetchForIndex,
          ListIds: definitions.lifecycle.ListIds,
          AwaitEventsSent: definitions.lifecycle.AwaitEventsSent,
        },
        handlers: {
          FetchForIndex: async ({ ids }, { signal }) => {
            if (ids.includes('slow-record')) await once(signal, 'abort');
            return { documents: entities.filter(({ id }) => ids.includes(id)).map(anIndexDocument) };
          },
          AwaitEventsSent: async () => ({ areSent: await whenSent() }),
          ListIds: async ({ afterId }) => ({
            ids: [...new Set(entities.map(({ id }) => id))].filter((id) => id > afterId).sort(),
          }),
        },
        callers: { search: 'all' },
      },
    ],
    host: '127.0.0.1',
    port: 0,
    audience,
    callerKeys: new Map([['search', KEYS[audience]]]),
    logger,
  });
  return { address: `127.0.0.1:${server.port}`, stop: server.stop };
}

describe('the search service', () => {
  const records: EntityTraits[] = [{ id: 'old-record', title: 'here from the beginning' }];
  const packages: EntityTraits[] = [];
  const stops: (() => Promise<unknown>)[] = [];
  let search: ReturnType<typeof createClient<typeof definitions.search>>;
  let relay: Relay;
  let outbox: pg.Pool;
  /** Writes past the service, into the same database. */
  let index: PatientIndex;
  let say: (...events: OutboxEvent[]) => Promise<void>;

  beforeAll(async () => {
    const [database, sender, nats] = await Promise.all([freshDatabase(), freshDatabase(), startNats()]);
    stops.push(nats.stop, database.drop, sender.drop);
    const [recordsPeer, packagesPeer] = await Promise.all([
      startPeer('records', records, sent),
      startPeer('packages', packages, sent),
    ]);
    stops.unshift(recordsPeer.stop, packagesPeer.stop);
    await migrate({ databaseUrl: sender.url, sets: [MIGRATIONS] });
    const bus = connectBus({ servers: nats.url, name: 'sender', logger });
    stops.unshift(bus.close);
    relay = startRelay({ databaseUrl: sender.url, natsConnection: bus, source: 'sender', logger });
    stops.unshift(relay.stop);
    await ensureStream(await bus.whenUp());
    outbox = new pg.Pool({ connectionString: sender.url, max: 1 });
    outbox.on('error', () => {});
    stops.unshift(() => outbox.end());
    say = async (...events) => {
      await appendEvents(sqlOn(outbox), events);
      relay.nudge();
    };
    const service = await startSearchService(
      {
        grpcHost: '127.0.0.1',
        grpcPort: 0,
        rpcDeadlineMs: 5_000,
        healthPort: 0,
        databaseUrl: new URL(database.url),
        engine: { kind: 'postgres' },
        natsUrls: [nats.url],
        callerKeys: new Map(['gateway', 'operator'].map((caller) => [caller, KEYS.search])),
        records: { address: recordsPeer.address, key: KEYS.records },
        packages: { address: packagesPeer.address, key: KEYS.packages },
        searchTimeoutMs: 60_000,
        searchConnections: 2,
        ownWritesWaitMs: 30_000,
        vocabularyDir: '',
      },
      logger,
    );
    stops.unshift(service.stop);
    index = await openPostgresIndex(database.url, { maxConnections: 1 });
    stops.unshift(index.stop);
    const address = `127.0.0.1:${service.grpcPort}`;
    const as = (caller: string) => {
      const client = createClient(definitions.search, {
        address,
        audience: 'search',
        caller,
        key: KEYS.search,
        defaultTimeoutMs: 60_000,
      });
      stops.unshift(async () => client.close());
      return client;
    };
    search = { ...as('gateway'), describeIndex: as('operator').describeIndex };
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
  });

  /** Both peers write into the one outbox. */
  const sent = () => relay.whenSent(sqlOn(outbox), { timeoutMs: 29_000 });

  const titlesFound = async (q: string, principal: Principal = anonymous('request')) =>
    (await search.search({ listing: 'LISTING_PUBLISHED', q }, principal)).hits.map(({ id }) => id);

  test('fills an empty index from the services', async () => {
    await until(async () => (await titlesFound('beginning')).length === 1);
    expect((await search.describeIndex({}, ANN)).documents).toBe('1');
  });

  test('finds the entity of an event', async () => {
    records.push({ id: 'new-record', title: 'fresh from the press', ownerId: 'ann' });
    packages.push({
      id: 'new-package',
      kind: 'package',
      title: 'a fresh package',
      access: 'restricted',
      ownerId: 'ann',
    });
    await say(
      newEvent(
        'knowledge.packages.package.published',
        { id: 'new-package', parentId: 'parent-of-new-package', revision: 1, recordIds: ['new-record'] },
        { aggregateId: 'new-package', revision: 1 },
      ),
    );
    await until(async () => (await titlesFound('fresh', ANN)).length === 2);
    expect(await titlesFound('fresh')).toEqual(['new-record']);
    const { documents, pendingEvents, deadLetters } = await search.describeIndex({}, ANN);
    expect({ documents, deadLetters }).toEqual({ documents: '3', deadLetters: '0' });
    await until(async () => (await search.describeIndex({}, ANN)).pendingEvents === '0');
    expect(Number(pendingEvents)).toBeLessThanOrEqual(1);
  });

  test('answers a listing with its total, facets, sort and filters', async () => {
    const { aggregationsJson, ...answer } = await search.search(
      {
        listing: 'LISTING_PUBLISHED',
        kinds: ['record'],
        size: 1,
        page: 2,
        sort: 'oldest',
        filters: [
          { name: 'resource_type', values: ['image'] },
          { name: 'f', values: ['x'] },
        ],
      },
      anonymous('request'),
    );
    expect(answer).toEqual({
      hits: [{ kind: 'record', id: 'old-record', isDraft: false }],
      total: '2',
      nextCursor: '',
      engineMs: expect.any(Number),
      isNextTooFar: false,
      sortBy: 'oldest',
      effectiveFilters: [{ name: 'resource_type', values: ['image'] }],
    });
    expect(JSON.parse(aggregationsJson.toString())).toMatchObject({
      resource_type: { buckets: [{ key: 'image', doc_count: 2, is_selected: true }], label: 'Resource Type' },
      subject: { buckets: [], label: 'Subjects' },
    });
  });

  describe('a cursor', () => {
    const MANY = Array.from({ length: 320 }, (_, at) => `many-${String(at).padStart(3, '0')}`);
    const ofMany = (id: string, at: number, change: Partial<EntityTraits> = {}) =>
      anEntity({
        id,
        title: 'manifold',
        createdAt: 10_000 + (at % 40),
        versionIndex: 1 + (at % 3),
        ...change,
      });
    const page = (cursor: string, sort: string) =>
      search.search(
        { listing: 'LISTING_PUBLISHED', q: 'manifold', allVersions: true, size: 7, sort, cursor },
        anonymous('request'),
      );

    test.each(['', 'oldest', 'version'])(
      'passes each of hundreds once in the order %j, during concurrent changes',
      async (sort) => {
        await index.write({ entities: MANY.map((id, at) => ofMany(id, at)) });
        const seen: string[] = [];
        let [cursor, round] = ['*', 0];
        while (cursor !== '') {
          round += 1;
          const id = MANY[(round * 17) % MANY.length] ?? '';
          const [found] = await Promise.all([
            page(cursor, sort),
            index.write({
              entities: [
                ofMany(`newer-${sort}${round}`, round, { createdAt: 99_999 }),
                ofMany(`older-${sort}${round}`, round, { createdAt: 1 }),
                ofMany(`amid-${sort}${round}`, round),
                ofMany(id, MANY.indexOf(id), { title: 'manifold and changed', revision: 1 + round }),
              ],
              tombstones: [
                {
                  id: `amid-${sort}${round - 1}`,
                  form: 'published',
                  kind: 'record',
                  parentId: 'p',
                  revision: '9',
                },
              ],
            }),
          ]);
          seen.push(...found.hits.map((hit) => hit.id));
          cursor = round < 1_000 ? found.nextCursor : '';
        }
        expect(seen.filter((id) => id.startsWith('many-')).sort()).toEqual(MANY);
        expect(new Set(seen).size).toBe(seen.length);
      },
    );

    test('ends with the last hit, also where that fills the page', async () => {
      const last = async (size: number) =>
        (await search.search({ listing: 'LISTING_PUBLISHED', q: 'id:many-001', size, cursor: '*' }, ANN))
          .nextCursor;
      expect([await last(1), await last(2)]).toEqual(['', '']);
    });
  });

  describe('suggestions', () => {
    const suggest = async (wanted: { q: string; type?: string; size?: number }) =>
      (await search.suggest({ type: 'title', ...wanted }, anonymous('request'))).suggestions;

    test('are those of documents that the caller may read', async () => {
      expect(await suggest({ q: 'pre fre' })).toMatchObject([{ value: 'fresh from the press', count: '1' }]);
      expect(await suggest({ q: 'a fresh pack' })).toEqual([]);
      const ofAnn = await search.suggest({ type: 'title', q: 'a fresh pack' }, ANN);
      expect(ofAnn.suggestions).toMatchObject([
        { value: 'a fresh package', count: '1', sources: [{ kind: 'package' }] },
      ]);
      expect(await suggest({ q: ' . ' })).toEqual([]);
    });

    test.each<[field: string, message: string, wanted: Parameters<typeof suggest>[0]]>([
      ['type', 'Must be one of: title, creator, subject.', { q: 'a', type: 'keyword' }],
      ['type', 'Must be one of: title, creator, subject.', { q: 'a', type: '' }],
      ['size', 'Must be less than or equal to 50.', { q: 'a', size: 51 }],
      ['size', 'Must be greater than or equal to 1.', { q: 'a', size: -1 }],
      ['q', 'Longer than 1024 characters.', { q: 'a'.repeat(1_025) }],
    ])('with a wrong %s are refused: %s', async (field, message, wanted) => {
      await expect(suggest(wanted)).rejects.toMatchObject({
        kind: 'invalid',
        issues: [{ field, messages: [message] }],
      });
    });
  });

  const bob = { ...ANN, userId: 'bob' };
  const ofBob = { listing: 'LISTING_USER', size: 1 } as const;
  const saveOfBob = async (id: string) => {
    records.push({ id, form: 'draft', ownerId: 'bob', title: id });
    await say(
      newEvent(
        'knowledge.records.draft.saved',
        { id, parentId: `parent-of-${id}`, revision: 1 },
        { aggregateId: id, revision: 1 },
      ),
    );
  };
  test('lists callers their recent writes', async () => {
    for (let n = 1; n <= 50; n += 1) {
      await saveOfBob(`own-${n}`);
      expect((await search.search(ofBob, bob)).total).toBe(String(n));
    }
  });

  test('waits for the package whose event reveals a published resource', async () => {
    records.push({ id: 'brought', form: 'draft', ownerId: 'ann' });
    const listed = async (publishedIds: string[]) => {
      const listing = 'LISTING_CONTEXT_RESOURCES';
      return (await search.search({ listing, onlyIds: ['brought'], publishedIds }, ANN)).hits;
    };
    expect(await listed([])).toEqual([{ kind: 'record', id: 'brought', isDraft: true }]);

    records.splice(-1, 1, { id: 'brought', ownerId: 'ann', revision: 2 });
    packages.push({ id: 'bringing', kind: 'package', ownerId: 'ann' });
    await say(
      newEvent(
        'knowledge.packages.package.published',
        { id: 'bringing', parentId: 'parent-of-bringing', revision: 2, recordIds: ['brought'] },
        { aggregateId: 'bringing', revision: 2 },
      ),
    );
    expect(await listed(['brought'])).toEqual([{ kind: 'record', id: 'brought', isDraft: false }]);
    expect(await titlesFound('id:bringing', ANN)).toEqual(['bringing']);
  });

  test('lists resources without an event yet', async () => {
    records.push({ id: 'draft-record', form: 'draft', ownerId: 'ann' });
    const { hits } = await search.search(
      { listing: 'LISTING_DRAFT_RESOURCES', onlyIds: ['draft-record', 'new-record'], sort: 'oldest' },
      ANN,
    );
    expect(hits).toEqual([
      { kind: 'record', id: 'draft-record', isDraft: true },
      { kind: 'record', id: 'new-record', isDraft: false },
    ]);
  });

  test('lists the indexed resources when missing ones cannot be fetched in time', async () => {
    const { hits } = await search.search(
      { listing: 'LISTING_DRAFT_RESOURCES', onlyIds: ['draft-record', 'slow-record'] },
      ANN,
      { timeoutMs: 20_000 },
    );
    expect(hits).toEqual([{ kind: 'record', id: 'draft-record', isDraft: true }]);
  });

  test('refuses a query that cannot be read, with the place', async () => {
    await expect(titlesFound('title:(((')).rejects.toMatchObject({
      kind: 'invalid',
      message: 'Invalid query string syntax.',
      issues: [{ field: 'q', messages: ['The query ends too early at position 10.'] }],
    });
  });
});
