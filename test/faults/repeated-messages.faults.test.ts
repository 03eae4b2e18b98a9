import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { definitions } from '@kr/contracts';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, Listing } from '../e2e/story/answers.ts';
import { databaseDigest } from '../e2e/story/database-digest.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { useSearchTables } from '../e2e/story/search-tables.ts';
import { link, packageOfResources, upload } from '../e2e/story/stories.ts';
import { type PublicationLedger, publicationLedger } from './publication-ledger.ts';
import { type Message, startRelay } from './recording-relay.ts';
import { openStream, type Stream } from './republished-events.ts';

/** Calls of the coordinator to its participants. */
const OF_A_PUBLICATION = /^SealBuckets$|^PreparePublication$|^ApplyDecisionTo(?:Buckets|Records)$/;
const CALLED = {
  records: {
    address: 'RECORDS_ADDRESS',
    key: 'RECORDS_KEY',
    definitions: [definitions.records, definitions.lifecycle],
  },
  files: { address: 'FILES_ADDRESS', key: 'FILES_KEY', definitions: [definitions.files] },
};

/** All visible state, and that deleted entities are gone; timestamps may differ. */
const INDEX = `
  select md5(string_agg((to_jsonb(d) - 'deleted_at')::text || (deleted_at is null), '|' order by id, form)) as index
  from index_document d`;

let system: TestSystem;
let author: HttpClient;
let ledger: PublicationLedger;
let stream: Stream;
let databases: Client[];
let search: Client;
let messages: Message[] = [];
const relays: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  system = await startSystem({
    environmentOf: async (service, environment) =>
      service === 'packages' ? { ...environment, ...(await relayed(environment)) } : environment,
  });
  author = insistentClient(httpClient(system.baseUrl, system.token));
  ledger = publicationLedger(system);
  stream = await openStream(system.natsUrl);
  const urls = system.databaseUrls;
  search = new Client({ connectionString: urls.search });
  const others = [urls.records, urls.packages, urls.files];
  databases = [search, ...others.map((connectionString) => new Client({ connectionString }))];
  await Promise.all(databases.map((database) => database.connect()));
  await useSearchTables(search);
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.end()));
  await stream?.close();
  await ledger?.close();
  await system?.stop();
  await Promise.all(relays.map((relay) => relay.stop()));
});

async function relayed(environment: Readonly<Record<string, string | undefined>>) {
  const changed: Record<string, string> = {};
  for (const [callee, { address, key, definitions: served }] of Object.entries(CALLED)) {
    const relay = await startRelay({
      caller: 'packages',
      callee,
      address: environment[address] ?? '',
      key: environment[key] ?? '',
      definitions: served,
      isKept: (method) => OF_A_PUBLICATION.test(method),
      onMessage: (message) => messages.push(message),
    });
    relays.push(relay);
    changed[address] = relay.address;
  }
  return changed;
}

const atRest = async (): Promise<string[]> => {
  await ledger.quiet();
  await stream.consumed();
  const { rows } = await search.query<{ index: string }>(INDEX);
  return [...(await databaseDigest(databases)), `index ${rows[0]?.index}`];
};

const namesOf = (kept: readonly Message[]) => [...new Set(kept.map(({ method }) => method))].sort();
const EVERY_METHOD = [
  'ApplyDecisionToBuckets',
  'ApplyDecisionToRecords',
  'PreparePublication',
  'SealBuckets',
];

/** Once more, the last first, and each twice. */
async function repeatBackwards(kept: readonly Message[]): Promise<void> {
  for (const message of kept.toReversed()) {
    await message.repeat();
    await message.repeat();
  }
}

async function packageWithFile(title: string) {
  const { main, resources } = await packageOfResources(author, title, 3);
  const [first] = resources as [Entity, ...Entity[]];
  const json = recordDocument(`${title}, with a file`, { withFiles: true });
  const draft = await author.sure<Entity>('PUT', `/records/${first.id}/draft`, { json });
  await upload(author, draft, 'data.txt', Buffer.from('bytes'));
  return { main, resources, entities: [main, ...resources] };
}

describe('every message of a publication is delivered twice, and later again in reversed order', () => {
  test('when it is committed: nothing changes, and its effects are there once', async () => {
    const { main, entities } = await packageWithFile('Delivered twice');
    await stream.consumed();
    const before = await stream.last();
    messages = [];
    const answer = await author.call('POST', link(main, 'publish'));
    const told = await atRest();
    const kept = messages;
    await repeatBackwards(kept);
    const afterCalls = await atRest();
    const events = await stream.sendAgain(before);
    const afterEvents = await atRest();

    const q = encodeURIComponent(entities.map(({ id }) => `id:"${id}"`).join(' OR '));
    const { hits } = await author.sure<Listing>('GET', `/search?q=${q}`);
    expect({
      status: answer.status,
      methods: namesOf(kept),
      hadEvents: events >= entities.length,
      announced: await Promise.all(entities.map(({ id }) => ledger.announcementsOf(id))),
      publishers: await Promise.all(entities.map(({ id }) => ledger.publishersOf(id))),
      found: hits.total,
      afterCalls,
      afterEvents,
    }).toEqual({
      status: 202,
      methods: EVERY_METHOD,
      hadEvents: true,
      announced: entities.map(() => 1),
      publishers: entities.map(() => 1),
      found: entities.length,
      afterCalls: told,
      afterEvents: told,
    });
  });

  test('when it is refused: everything stays a draft that can be changed and published', async () => {
    const { main, resources, entities } = await packageWithFile('Refused twice');
    const [, second] = resources as [Entity, Entity];
    const wrong = recordDocument('Wrong', { metadata: { creators: [] } });
    await author.sure('PUT', `/records/${second.id}/draft`, { json: wrong });
    messages = [];
    const answer = await author.call('POST', link(main, 'publish'));
    const told = await atRest();
    const kept = messages;
    await repeatBackwards(kept);
    expect({ status: answer.status, methods: namesOf(kept), after: await atRest() }).toEqual({
      status: 400,
      methods: EVERY_METHOD,
      after: told,
    });

    await author.sure('PUT', `/records/${second.id}/draft`, { json: recordDocument('Mended') });
    expect((await author.call('POST', link(main, 'publish'))).status).toBe(202);
    await ledger.quiet();
    // Late messages of the refused publication have no effect.
    await repeatBackwards(kept);
    const sights = await Promise.all(
      entities.map(({ id }) => author.call('GET', `/${id === main.id ? 'packages' : 'records'}/${id}`)),
    );
    expect({
      sights: sights.map(({ status }) => status),
      announced: await Promise.all(entities.map(({ id }) => ledger.announcementsOf(id))),
    }).toEqual({ sights: entities.map(() => 200), announced: entities.map(() => 1) });
  });
});
