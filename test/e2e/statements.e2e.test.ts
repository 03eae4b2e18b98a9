import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import type { Entity, Listing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { COUNTED, type StatementCounter, statementCounter } from './story/statement-counter.ts';
import { link, packageOfResources, publish, upload } from './story/stories.ts';

const MANY = 50;
/** Every request with a token reads its row. */
const TOKEN = 1;

let system: TestSystem;
let author: HttpClient;
let statements: StatementCounter;
let draft: Entity;
let record: Entity;
/** Each with as many resources as a page of the lists below shows. */
let openPackage: Entity;
let closedPackage: Entity;

beforeAll(async () => {
  system = await startSystem(COUNTED);
  statements = statementCounter(system);
  author = httpClient(system.baseUrl, system.token);
  draft = await author.sure<Entity>('POST', '/records', { json: recordDocument('A draft') });
  openPackage = (await packageOfResources(author, 'Open', MANY)).main;
  const closed = await packageOfResources(author, 'Closed', MANY);
  closedPackage = await author.sure<Entity>('POST', `${link(closed.main, 'publish')}?wait_for_index=true`);
  record = await author.sure<Entity>('GET', `/records/${closed.resources[0]?.id}`);
});
afterAll(() => system.stop());

const reading = (path: string) => () => author.sure('GET', path);

describe('a read of one', () => {
  test.each<[string, () => string]>([
    ['record', () => `/records/${record.id}`],
    ['package with many resources', () => `/packages/${closedPackage.id}`],
    ['draft', () => `/records/${draft.id}/draft`],
    ['draft of a package with many resources', () => `/packages/${openPackage.id}/draft`],
  ])('%s is one statement, after the one that finds the token', async (_name, path) => {
    expect(await statements.of(reading(path()))).toBe(TOKEN + 1);
  });
});

describe('a list', () => {
  // One search, one read per kind, one count of versions or of a package's resources. Lists in which writers must find
  // their writes also read the outbox of packages and, unless they list only packages, that of records.
  test.each<[string, number, () => string]>([
    ['found records', 2, () => '/records?q=Closed'],
    ['found packages', 2, () => '/packages?q=Closed'],
    ['all found entities', 3, () => `/search?q=id:${record.id}%20OR%20id:${closedPackage.id}`],
    ['versions', 3, () => `/records/${record.id}/versions`],
    ['own records', 4, () => '/user/records?q=Closed'],
    ['own drafts', 4, () => '/user/records?q=Open'],
    ['own packages', 3, () => '/user/packages'],
    ['all entities of the user', 5, () => '/user/search'],
    ['resources of a package', 5, () => `/packages/${closedPackage.id}/resources`],
    ['resources of a draft', 5, () => `/packages/${openPackage.id}/draft/resources`],
    ['resources of a context', 6, () => `/packages/context/${openPackage.parent.id}/resources`],
  ])(
    'of %s takes %i statements and the one that finds the token, however many it shows',
    async (_name, expected, path) => {
      const page = (size: number) => `${path()}${path().includes('?') ? '&' : '?'}size=${size}`;
      const { hits } = await author.sure<Listing>('GET', page(MANY));
      expect(hits.hits).toHaveLength(Math.min(MANY, hits.total));
      const counts = [await statements.of(reading(page(1))), await statements.of(reading(page(MANY)))];
      // A page of one hit may be of one kind.
      expect(Math.max(...counts)).toBe(TOKEN + expected);
    },
  );
});

// After the lists, which would show their drafts.
describe('a creation', () => {
  test('is one statement, which commits by itself, after the one that finds the token', async () => {
    const create = (path: string, title: string) => () =>
      author.sure('POST', path, { json: recordDocument(title) });
    expect(await statements.of(create('/records', 'One statement'))).toBe(TOKEN + 1);
    expect(await statements.of(create('/packages', 'One statement'))).toBe(TOKEN + 1);
  });
});

describe('an upload', () => {
  test('reads its draft in one statement, reserves its bytes in one and attaches them in one', async () => {
    const json = recordDocument('With files', { withFiles: true });
    const { id } = await author.sure<Entity>('POST', '/records', { json });
    await author.sure('POST', `/records/${id}/draft/files`, { json: [{ key: 'a.txt' }] });
    const put = () =>
      author.sure('PUT', `/records/${id}/draft/files/a.txt/content`, { bytes: Buffer.from('bytes') });
    expect(await statements.of(put)).toBe(TOKEN + 3);
  });
});

describe('a download', () => {
  test('authorises its reader in one statement and finds the file in one; anonymous readers share both for a second', async () => {
    const json = recordDocument('With a published file', { withFiles: true });
    const withFile = await author.sure<Entity>('POST', '/records', { json });
    await upload(author, withFile, 'a.txt', Buffer.from('bytes'));
    const download = (reader: HttpClient, path: string) => async () =>
      expect((await reader.call('GET', path)).text).toBe('bytes');
    const ofDraft = download(author, `/records/${withFile.id}/draft/files/a.txt/content`);
    expect(await statements.of(ofDraft)).toBe(TOKEN + 2);
    await publish(author, withFile);
    const anyone = download(httpClient(system.baseUrl), `/records/${withFile.id}/files/a.txt/content`);
    expect(await statements.of(anyone)).toBe(0);
  });
});

describe('a publish', () => {
  /** The decision is delivered after the answer, so counting ends with the answer. */
  const TOLD_LATE = 'publish.notify-files.before:pause:1500,publish.notify-records.before:pause:1500';
  /** Other chores of the services fall into some of them, never into all, however slow the machine is. */
  const MOST_TRIES = 20;
  let packages: pg.Client;
  beforeAll(async () => {
    await system.relaunch('packages', { FAILPOINT: TOLD_LATE });
    packages = new pg.Client(system.databaseUrls.packages);
    await packages.connect();
  });
  afterAll(() => packages?.end());

  async function isBeingToldOf(packageId: string): Promise<boolean> {
    const query = `select from publication where entity_id = $1 and state <> 'DONE'`;
    const { rows } = await packages.query(query, [packageId]);
    return rows.length > 0;
  }

  /** The fewest of several tries; tries end when the expected number is reached. */
  async function untilAnswered(resources: number, expected: number): Promise<number> {
    let fewest = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < MOST_TRIES && fewest > expected; tries += 1) {
      const { main } = await packageOfResources(author, `Package of ${resources}`, resources);
      // A personal listing waits for the events of recent writes.
      await author.sure('GET', '/user/search?size=1');
      fewest = Math.min(fewest, await statements.during(() => publish(author, main)));
      // Late deliveries are not counted for another request.
      await until(async () => !(await isBeingToldOf(main.id)));
    }
    return fewest;
  }

  // The token, what is published, the publication with the lock, pending restrictions, the draft once more, and the published package: one each.
  // Three for the seal, four for the vote, four for the commit; these three are transactions, with BEGIN and COMMIT.
  test('takes 17 statements in 3 transactions up to the answer, however many resources there are', async () => {
    const expected = 17 + 6;
    expect([await untilAnswered(1, expected), await untilAnswered(10, expected)]).toEqual([
      expected,
      expected,
    ]);
  });
});
