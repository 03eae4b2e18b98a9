import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SERVICES, type ServiceName } from '@kr/local-stack';
import { until } from '@kr/testbed';
import type { AccessLink, Entity, Listing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, packageOfResources, publish, relate, upload } from '../e2e/story/stories.ts';
import { isFull, scaled, seed } from './scale.ts';
import { openFormerRelease } from './upgrade/former-release.ts';
import { retryingClient } from './upgrade/retrying-client.ts';
import { type RollingSystem, startRollingSystem } from './upgrade/rolling-system.ts';

const FILE = Buffer.alloc(100_000, 'gauge ');
const WORKERS = scaled(2, 4);
/** Generous timeouts for steps of seconds. */
const LONG_MS = 240_000;

// The whole form begins with the last release; the short one has this one follow itself.
const former = isFull ? await openFormerRelease() : { checkout: undefined };

/** Any order is supported (docs/operations): another one in each whole run. */
const ORDER: readonly ServiceName[] = isFull
  ? SERVICES.toSorted((one, other) => rank(one) - rank(other))
  : ['gateway', 'files', 'packages', 'search', 'records', 'access-links'];

function rank(service: ServiceName): number {
  return Math.sin(seed + SERVICES.indexOf(service) * 12.9898);
}

/** The reads of an owner, a visitor and the holder of a link, by address. */
type Readings = Map<string, string>;

if ('missing' in former) test.skip(`an upgrade (${former.missing})`, () => {});
else
  describe(`an upgrade while it is used (seed ${seed})`, () => {
    let system: RollingSystem;
    let author: HttpClient;
    let reader: HttpClient;
    let visitor: HttpClient;
    let targets: string[];
    let before: Readings;
    let content: string;

    beforeAll(async () => {
      system = await startRollingSystem(former.checkout);
      author = retryingClient(oneTryClient(system.baseUrl, system.token));
      reader = retryingClient(httpClient(system.baseUrl, system.token));
      visitor = insistentClient(httpClient(system.baseUrl));
      ({ targets, content } = await writeEverything(author));
      before = await readAll(reader, targets);
      await until(async () => (await found('Alpine')).length === 3);
    });
    afterAll(async () => {
      await system?.[Symbol.asyncDispose]();
    });

    const found = async (query: string): Promise<string[]> => {
      const { hits } = await visitor.sure<Listing>('GET', `/search?q=${query}`);
      return hits.hits.map(({ id }) => id).sort();
    };

    test('every write is taken at the second try at the latest, and every read is as before', async () => {
      const alpine = await found('Alpine');
      const written: Entity[] = [];
      const lost: string[] = [];
      let isOver = false;
      const worker = async (): Promise<void> => {
        while (!isOver) {
          written.push(...(await writeSome(author)));
          if ((await found('Alpine')).join() !== alpine.join()) lost.push('a search');
        }
      };
      const working = Promise.all(Array.from({ length: WORKERS }, worker));
      const replacing = (async () => {
        for (const service of ORDER) {
          const soFar = written.length;
          await system.replace(service, async ({ former, next }) => {
            // Both handle a share of the writes.
            await until(() => written.length >= soFar + 2 * WORKERS, { timeoutMs: LONG_MS });
            if (service === 'gateway') expect(await differing(former, next, targets)).toEqual([]);
          });
          expect(await readAll(reader, targets)).toEqual(before);
        }
      })();
      await Promise.race([working, replacing]);
      isOver = true;
      await Promise.all([working, replacing]);
      expect({ lost, left: await notThere(reader, written) }).toEqual({ lost: [], left: [] });
    }, 900_000);

    test('what the former release has written can be read, changed and published', async () => {
      expect((await author.call('GET', content)).bytes.equals(FILE)).toBe(true);
      const { hits } = await author.sure<Listing>('GET', '/user/records?q=Draft of before&size=5');
      const draft = await author.sure<Entity>('GET', `/records/${hits.hits[0]?.id}/draft`);
      await upload(author, draft, 'new.bin', FILE);
      await publish(author, draft);
      await until(async () => (await found('"Draft of before"')).length === 1);
      expect((await visitor.call('GET', `/records/${draft.id}`)).status).toBe(200);
    });
  });

/** One of each kind of data that a release leaves behind. */
async function writeEverything(author: HttpClient): Promise<{ targets: string[]; content: string }> {
  const { main, resources } = await packageOfResources(author, 'Alpine rivers', 2);
  await publish(author, main);
  const withFiles = { withFiles: true };
  const draft = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Draft of before', withFiles),
  });
  await upload(author, draft, 'gauges.csv', FILE);
  const shared = await author.sure<AccessLink>('POST', link(draft, 'access_links'), {
    json: { permission: 'preview' },
  });
  const first = await author.sure<Entity>('POST', '/records', {
    json: recordDocument('Versions', withFiles),
  });
  await upload(author, first, 'one.bin', FILE);
  const published = await publish(author, first);
  const next = await author.sure<Entity>('POST', link(published, 'versions'));
  const [edited] = resources as [Entity, Entity];
  await author.sure('POST', `/records/${edited.id}/draft`);
  const targets = [
    `/packages/${main.id}`,
    `/packages/${main.id}/resources`,
    ...resources.map(({ id }) => `/records/${id}`),
    `/records/${edited.id}/draft`,
    `/records/${draft.id}/draft`,
    `/records/${draft.id}/draft/files`,
    `/records/${draft.id}/draft?token=${shared.token}`,
    `/records/${published.id}/versions`,
    `/records/${published.id}/files`,
    `/records/${next.id}/draft`,
    '/user/records?sort=oldest&q=of before',
  ];
  return { targets, content: `/records/${draft.id}/draft/files/gauges.csv/content` };
}

/** Creates, edits, relates, uploads, publishes and reads again; gives what is published then. */
async function writeSome(author: HttpClient): Promise<Entity[]> {
  const json = recordDocument('Meanwhile', { withFiles: true });
  const record = await author.sure<Entity>('POST', '/records', { json });
  const title = recordDocument('Edited meanwhile', { withFiles: true });
  await author.sure('PUT', link(record, 'self'), { json: title });
  await upload(author, record, 'some.bin', FILE);
  const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Together') });
  await relate(author, main, [record]);
  await publish(author, main);
  const read = await author.sure<Entity>('GET', `/records/${record.id}`);
  if (read.metadata['title'] !== 'Edited meanwhile') throw new Error(`${record.id} is not as it was edited`);
  return [record, main];
}

async function notThere(author: HttpClient, written: readonly Entity[]): Promise<string[]> {
  const missing: string[] = [];
  for (const { id, links } of written) {
    const kind = links['self']?.includes('/packages/') ? 'packages' : 'records';
    const { status, body } = await author.call<Entity>('GET', `/${kind}/${id}`);
    if (status !== 200 || !body.is_published) missing.push(id);
  }
  return missing;
}

async function readAll(client: HttpClient, targets: readonly string[]): Promise<Readings> {
  const readings: Readings = new Map();
  for (const target of targets) readings.set(target, (await client.call('GET', target)).text);
  return readings;
}

/** The addresses at which two gateways answer visitors differently. */
async function differing(one: string, other: string, targets: readonly string[]): Promise<string[]> {
  const [first, second] = await Promise.all(
    [one, other].map((baseUrl) => readAll(httpClient(baseUrl), targets)),
  );
  return targets.filter((target) => first?.get(target) !== second?.get(target));
}
