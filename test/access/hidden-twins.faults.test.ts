import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, Listing } from '../e2e/story/answers.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link, publish } from '../e2e/story/stories.ts';
import { openStream } from '../faults/republished-events.ts';
import { scaled, seed } from '../faults/scale.ts';
import { type Credentials, inTurns, type ManyRequests, manyRequests } from './http.ts';
import type { Access, Collection } from './states.ts';
import { chanceDocument, chanceQuery } from './twin-documents.ts';

const PUBLIC_COUNT = 60;
const TWIN_COUNT = 100;
const QUERY_COUNT = scaled(1_000, 10_000);
const PATIENCE_MS = scaled(300_000, 3_600_000);
const HIDDEN: readonly Access[] = ['restricted', 'embargoed'];

let system: TestSystem;
let owner: HttpClient;
let requests: ManyRequests;
/** Who may see what is public, and nothing else. */
let strangers: Credentials[];
/** A chance for each thing, so that it does not matter which is made first. */
const chance = (of: number, at: number) => seededRandom(seed + of * 1_000_000 + at);
const [OPEN, TWINS, QUERIES] = [1, 2, 3] as const;
beforeAll(async () => {
  system = await startSystem({ environment: { RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' } });
  owner = httpClient(system.baseUrl, system.token);
  const { token } = await system.createUser('stranger');
  const stranger = httpClient(system.baseUrl, token);
  const own = await stranger.sure<Entity>('POST', '/records', { json: {} });
  const shared = await stranger.sure<{ token: string }>('POST', link(own, 'access_links'), {
    json: { permission: 'edit' },
  });
  strangers = [{}, { token }, { link: shared.token }];
  requests = manyRequests(system.baseUrl, () => undefined);
});
afterAll(async () => {
  await requests?.close();
  await system?.stop();
});

const collectionOf = (at: number): Collection => (at % 3 === 0 ? 'packages' : 'records');
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

async function publicEntity(at: number): Promise<Entity> {
  const collection = collectionOf(at);
  const json = chanceDocument(chance(OPEN, at), collection, { access: 'public', isHidden: false });
  return publish(owner, await owner.sure<Entity>('POST', `/${collection}`, { json }));
}

/** Something that strangers may not know of: an entity of its own, or what is done with a public one. */
async function twin(at: number, among: readonly Entity[]): Promise<string> {
  const collection = collectionOf(at);
  const random = chance(TWINS, at);
  const access = HIDDEN[at % HIDDEN.length] ?? 'restricted';
  const ofItsOwn = (given: Access) =>
    owner.sure<Entity>('POST', `/${collection}`, {
      json: chanceDocument(random, collection, { access: given, isHidden: true }),
    });
  const kept = among[at % among.length];
  if (kept === undefined) throw new Error('there is nothing public');
  switch (Math.floor(at / 3) % 6) {
    case 0:
      return (await publish(owner, await ofItsOwn(access))).id;
    case 1:
      return (await ofItsOwn('public')).id;
    case 2:
      return (await ofItsOwn(access)).id;
    case 3:
      return (await changed(random, kept, 'draft')).id;
    case 4:
      return (await changed(random, kept, 'versions')).id;
    default:
      return (await holder(random, access, among)).id;
  }
}

/** A draft beside something public, or of its next version. */
async function changed(random: () => number, kept: Entity, way: 'draft' | 'versions'): Promise<Entity> {
  const collection = kept.parent.type === 'package' ? 'packages' : 'records';
  const { id } = await owner.sure<Entity>('POST', `/${collection}/${kept.id}/${way}`);
  const json = chanceDocument(random, collection, { access: 'restricted', isHidden: true });
  return owner.sure<Entity>('PUT', `/${collection}/${id}/draft`, { json });
}

/** A package draft that holds something public. */
async function holder(random: () => number, access: Access, among: readonly Entity[]): Promise<Entity> {
  const json = chanceDocument(random, 'packages', { access, isHidden: true });
  const main = await owner.sure<Entity>('POST', '/packages', { json });
  const resources = among.filter(({ parent }) => parent.type !== 'package').slice(0, 5);
  await owner.sure('POST', link(main, 'resources'), {
    json: { resources: resources.map(({ id }) => ({ id })) },
  });
  return main;
}

async function indexed(): Promise<void> {
  const stream = await openStream(system.natsUrl);
  await stream.consumed().finally(stream.close);
}

/** The answer as a whole by its digest, and of it what helps to see what is wrong. */
interface Remembered {
  query: string;
  digest: string;
  brief: string;
  total: number;
}

async function askedBy(stranger: Credentials, query: string): Promise<Remembered> {
  const { status, text } = await requests.ask('GET', query, stranger);
  if (status !== 200) return { query, digest: `${status} ${text}`, brief: text, total: 0 };
  const { hits, aggregations } = JSON.parse(text) as Listing;
  const brief = JSON.stringify({ total: hits.total, ids: hits.hits.map(({ id }) => id), aggregations });
  return { query, digest: createHash('sha256').update(text).digest('hex'), brief, total: hits.total };
}

test(
  `${QUERY_COUNT} queries of strangers are answered as if nothing hidden were there (seed ${seed})`,
  async () => {
    const open = await inTurns(numbers(PUBLIC_COUNT), publicEntity, 4);
    await until(async () => {
      const { hits } = await owner.sure<Listing>('GET', '/search?size=1');
      return hits.total === PUBLIC_COUNT;
    });
    await indexed();
    // What has no twin is asked for as often as what will have one.
    const ids = open.flatMap(({ id, parent }) => [id, parent.id]);
    const asked = numbers(QUERY_COUNT).map((at) => ({
      stranger: strangers[at % strangers.length] ?? {},
      query: chanceQuery(chance(QUERIES, at), ids),
    }));
    const askAll = () => inTurns(asked, ({ stranger, query }) => askedBy(stranger, query));

    const before = await askAll();
    const hidden = await inTurns(numbers(TWIN_COUNT), (at) => twin(at, open), 4);
    await until(async () => {
      const { hits } = await owner.sure<Listing>(
        'GET',
        `/user/search?size=1&allversions=true&q=quagga OR thylacine`,
      );
      return hits.total > TWIN_COUNT / 2;
    });
    await indexed();
    const after = await askAll();

    const different = before.flatMap((one, at) => {
      const other = after[at] as Remembered;
      return one.digest === other.digest ? [] : [{ query: one.query, before: one.brief, after: other.brief }];
    });
    process.stdout.write(
      `${before.length} queries, ${before.filter(({ total }) => total > 0).length} of them with hits, ` +
        `${before.filter(({ digest }) => !/^[0-9a-f]{64}$/.test(digest)).length} refused, ${hidden.length} twins\n`,
    );
    expect({ count: different.length, some: different.slice(0, 5) }).toEqual({ count: 0, some: [] });
    expect(before.filter(({ total }) => total > 0).length).toBeGreaterThan(QUERY_COUNT / 4);
  },
  PATIENCE_MS,
);
