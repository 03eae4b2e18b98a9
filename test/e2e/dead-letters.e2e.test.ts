import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newEvent, type OutboxEvent } from '@kr/event-bus';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { useSearchTables } from './story/search-tables.ts';
import { link, packageOfResources, publishedRecord, upload } from './story/stories.ts';

const PATIENT = { timeoutMs: 120_000, everyMs: 100 };
const SERVICES = ['records', 'packages', 'files', 'search'] as const;
type Service = (typeof SERVICES)[number];

let system: TestSystem;
let author: HttpClient;
const databases = {} as Record<Service, Client>;
beforeAll(async () => {
  // A replayed event empties the bucket of a draft that is still there.
  system = await startSystem({ skipsDriftCheck: true });
  author = httpClient(system.baseUrl, system.token);
  for (const service of SERVICES) {
    databases[service] = new Client({ connectionString: system.databaseUrls[service] });
    databases[service].on('error', () => {});
    await databases[service].connect();
  }
});
afterAll(async () => {
  for (const database of Object.values(databases)) await database.end();
  await system?.stop();
});

const kr = (...args: string[]) => adminCommand(system, 'dead-letters', ...args);

async function json<Shown>(...args: string[]): Promise<Shown & { code: number }> {
  const { code, out, err } = await kr(...args, '--json');
  if (out === '') throw new Error(err);
  return { ...JSON.parse(out), code };
}

interface Letter {
  service: Service;
  id: number;
  consumer: string;
  subject: string;
  deliveries: number;
  reason: string;
}
const listed = async (...args: string[]) =>
  (await json<{ dead_letters: Letter[] }>('list', ...args)).dead_letters;

/** An event that the service could not handle, as its consumer stores it. */
async function giveUp(service: Service, consumer: string, event: OutboxEvent): Promise<number> {
  const headers = {
    'ce-id': randomUUID(),
    'ce-subject': event.aggregateId,
    'ce-revision': String(event.revision),
    'ce-time': '2026-01-01T00:00:00Z',
  };
  const { rows } = await databases[service].query(
    `insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
     values ($1, $2, $3, $4, $5, 10, 'was broken') returning id::int`,
    [consumer, headers['ce-id'], event.subject, event.payload, headers],
  );
  return rows[0].id as number;
}

/** Every change of the table fails until the returned function is called. */
async function breakTable(service: Service, table: string): Promise<() => Promise<unknown>> {
  await databases[service].query(
    `create function broken() returns trigger language plpgsql as $$ begin raise exception 'the table is broken'; end $$;
     create trigger broken before insert or update or delete on ${table} execute function broken()`,
  );
  return () => databases[service].query('drop function broken() cascade');
}

const deletedDraft = ({ id, parent }: Entity) =>
  newEvent(
    'knowledge.records.draft.deleted',
    { id, parentId: parent.id, revision: '1000', isPublished: false, packageIds: [] },
    { aggregateId: id, revision: 1_000 },
  );
const found = async (id: string) =>
  (await author.sure<Listing>('GET', `/records?q=${encodeURIComponent(`id:"${id}"`)}`)).hits.total;

interface GivenUp {
  consumer: string;
  /** The table that its handler writes. */
  table: string;
  event: OutboxEvent;
  isHandled: () => Promise<boolean>;
}

/** For each service an event whose effect is missing. */
const GIVEN_UP: Record<Service, () => Promise<GivenUp>> = {
  records: async () => {
    const { main } = await packageOfResources(author, 'Relating', 1);
    const record = await author.sure<Entity>('POST', '/records', { json: recordDocument('Related') });
    return {
      consumer: 'records-follow-packages',
      table: 'packaged_record',
      event: newEvent(
        'knowledge.packages.resources.changed',
        {
          id: main.id,
          parentId: main.parent.id,
          revision: '1000',
          recordIds: [record.id],
        },
        { aggregateId: main.id, revision: 1_000 },
      ),
      isHandled: async () =>
        JSON.stringify(
          (await author.sure<{ relationship: unknown }>('GET', link(record, 'self'))).relationship,
        ).includes(main.id),
    };
  },
  packages: async () => {
    const { main, resources } = await packageOfResources(author, 'Holding', 2);
    const [gone] = resources as [Entity];
    return {
      consumer: 'packages-drop-deleted-records',
      table: 'package_resource',
      event: deletedDraft(gone),
      isHandled: async () => {
        const { rows } = await databases.packages.query(
          'select 1 from package_resource where package_id = $1',
          [main.id],
        );
        return rows.length === 1;
      },
    };
  },
  files: async () => {
    const json = recordDocument('With files', { withFiles: true });
    const draft = await author.sure<Entity>('POST', '/records', { json });
    await upload(author, draft, 'data.bin', Buffer.from('bytes'));
    return {
      consumer: 'files-remove-buckets',
      table: 'bucket',
      event: deletedDraft(draft),
      isHandled: async () =>
        (await author.sure<FilesListing>('GET', link(draft, 'files'))).entries.length === 0,
    };
  },
  search: async () => {
    const record = await publishedRecord(author, 'Not indexed');
    await until(async () => (await found(record.id)) === 1, PATIENT);
    await useSearchTables(databases.search);
    await databases.search.query('delete from index_document where id = $1', [record.id]);
    return {
      consumer: 'search-index',
      table: 'index_document',
      event: newEvent(
        'knowledge.records.record.published',
        { id: record.id, parentId: record.parent.id, packageId: '' },
        { aggregateId: record.id, revision: 1 },
      ),
      isHandled: async () => (await found(record.id)) === 1,
    };
  },
};

test.each(SERVICES)(
  'of %s are listed, fail again until the cause is gone, and are then handled',
  async (service) => {
    const { consumer, table, event, isHandled } = await GIVEN_UP[service]();
    const id = await giveUp(service, consumer, event);
    const letter = { service, id, consumer, subject: event.subject };
    expect(await listed('--service', service)).toEqual([
      {
        ...letter,
        deliveries: 10,
        reason: 'was broken',
        event_id: expect.any(String),
        failed_at: expect.any(String),
      },
    ]);
    expect(await isHandled()).toBe(false);

    const mend = await breakTable(service, table);
    const failed = { ...letter, deliveries: 11, reason: expect.stringContaining('the table is broken') };
    expect(await json('replay', String(id), '--service', service)).toMatchObject({
      code: 1,
      replayed: 0,
      failed: 1,
      failures: [failed],
    });
    expect(await listed()).toMatchObject([failed]);
    expect(await isHandled()).toBe(false);

    await mend();
    expect(await json('replay', '--all')).toEqual({
      code: 0,
      replayed: 1,
      failed: 0,
      failures: [],
      unknown_ids: [],
    });
    expect(await listed()).toEqual([]);
    expect(await isHandled()).toBe(true);
  },
);

test('the command names what it cannot replay', async () => {
  const event = deletedDraft(await publishedRecord(author, 'Any'));
  const torn = await giveUp('files', 'files-remove-buckets', { ...event, payload: Buffer.from([0x0f]) });
  const foreign = await giveUp('packages', 'packages-of-an-earlier-release', event);
  const { code, out, err } = await kr('replay', '--all');
  const [counts, headings, ...rows] = out
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect({ code, counts, headings, err }).toEqual({
    code: 1,
    counts: ['0 replayed, 2 failed again'],
    headings: ['service', 'id', 'consumer', 'event', 'subject', 'tried', 'failed', 'reason'],
    err: expect.stringContaining('2 failed again.'),
  });
  expect(rows.map(([service, id]) => [service, id])).toEqual([
    ['packages', String(foreign)],
    ['files', String(torn)],
  ]);
  expect(out).toContain('this release has no consumer packages-of-an-earlier-release');

  expect(await json('replay', '999999', '--service', 'search')).toMatchObject({
    code: 1,
    unknown_ids: [999_999],
  });
  const said = async (...args: string[]) => (await kr(...args)).err;
  expect(await said('replay')).toContain('Pass the ids of dead letters, or --all.');
  expect(await said('replay', 'x', '--service', 'files')).toContain('Not an id of a dead letter: x');
  expect(await said('replay', '1')).toContain('name it with --service');
  expect(await said('list', '--service', 'gateway')).toContain(
    'Allowed choices are records, packages, files, search',
  );
});
