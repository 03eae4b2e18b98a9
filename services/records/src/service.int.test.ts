import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import { connectBus, type ReceivedEvent, startConsumer } from '@kr/event-bus';
import { type Client, createClient } from '@kr/rpc';
import type { RunningService } from '@kr/service-host';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase, startNats, type TestNats, until } from '@kr/testbed';
import { readConfig } from './config.ts';
import { startRecordsService } from './service.ts';
import { GOOD_BODY, OWNER } from './testing/records-fixture.ts';

const KEY = 'k'.repeat(32);
const logger = createLogger('records', { write: () => undefined });
let database: FreshDatabase;
let nats: TestNats;
let service: RunningService;

beforeAll(async () => {
  [database, nats] = await Promise.all([freshDatabase(), startNats()]);
  const config = readConfig({
    DATABASE_URL: database.url,
    NATS_URL: nats.url,
    CALLER_KEYS: `gateway=${KEY},packages=${KEY}`,
    PACKAGES_ADDRESS: '127.0.0.1:9',
    PACKAGES_KEY: KEY,
    FILES_ADDRESS: '127.0.0.1:9',
    FILES_KEY: KEY,
    ACCESS_LINKS_ADDRESS: '127.0.0.1:9',
    ACCESS_LINKS_KEY: KEY,
    FILES_TICKET_KEY: KEY,
    ACCESS_LINKS_TICKET_KEY: KEY,
    DOI_PREFIX: '10.1234',
    OAI_PREFIX: 'repository.example.org',
  });
  service = await startRecordsService(config, logger);
});
afterAll(async () => {
  await service.stop();
  await service.stop();
  await nats.stop();
  await database.drop();
});

describe('the records service', () => {
  test('works with no other service there, and its events reach the stream', async () => {
    const [life, fromPackages] = ['gateway', 'packages'].map((caller) =>
      createClient(definitions.lifecycle, {
        address: `127.0.0.1:${service.grpcPort}`,
        audience: 'records',
        caller,
        key: KEY,
        defaultTimeoutMs: 60_000,
      }),
    ) as [Client<Definitions['lifecycle']>, Client<Definitions['lifecycle']>];
    const { document } = await life.createDraft({ body: Buffer.from(JSON.stringify(GOOD_BODY)) }, OWNER);
    const { ids } = await fromPackages.findIds(
      { ids: [document?.id ?? '', 'unknown'] },
      servicePrincipal('test'),
    );
    expect(ids).toEqual([document?.id]);

    const heard: ReceivedEvent[] = [];
    const bus = connectBus({ servers: nats.url, name: 'test', logger });
    const consumer = startConsumer({
      connection: bus,
      durable: 'test',
      subjects: ['knowledge.records.draft.saved'],
      handleBatch: async (events) => void heard.push(...events),
      recover: async () => undefined,
      database: { $executeRawUnsafe: async () => 0, $queryRawUnsafe: async <Rows>() => [] as Rows },
      logger,
    });
    await until(() => heard.length > 0);
    expect(heard.map(({ payload }) => payload)).toEqual([
      { id: document?.id, parentId: document?.parentId, revision: '1' },
    ]);
    await consumer.stop();
    await bus.close();
    life.close();
    fromPackages.close();
  });

  test('is ready as long as its database is', async () => {
    const reply = await fetch(`http://127.0.0.1:${service.healthPort}/readyz`);
    expect(reply.status).toBe(200);
  });
});
