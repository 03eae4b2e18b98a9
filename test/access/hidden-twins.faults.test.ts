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
import { type Asked, chanceDocument, chanceQuestion } from './twin-documents.ts';

const PUBLIC_COUNT = 60;
const TWIN_COUNT = 100;
const QUERY_COUNT = scaled(1_000, 10_000);
const PATIENCE_MS = scaled(300_000, 3_600_000);
const HIDDEN: readonly Access[] = ['restricted', 'embargoed'];

let system: TestSystem;
let owner: HttpClient;
let requests: ManyRequests;
/** A caller who may see only public entities. */
let strangers: Credentials[];
/** A random choice each, so that the order of creation does not matter. */
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

/** A secret that strangers may not know: a hidden entity, or an action on a public one. */
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

/** The answers as a whole by their digest, and of them what helps to see what is wrong. */
interface Remembered {
  asked: Asked;
  digest: string;
  brief: string;
  total: number;
}

/** More pages than this of one cursor reveal nothing new. */
const MOST_PAGES = 4;

async function askedBy(stranger: Credentials, asked: Asked): Promise<Remembered> {
  const digest = createHash('sha256');
  const briefs: string[] = [];
  let total = 0;
  let target: string | undefined = asked.target;
  for (let page = 0; target !== undefined && page < MOST_PAGES; page += 1) {
    const { status, headers, text } = await requests.ask('GET', target, stranger, {
      headers: { accept: asked.accept },
    });
    digest.update(`${status} ${headers['link'] ?? ''} ${text}`);
    const told = status === 200 ? whatItTells(text, asked) : { brief: `${status} ${text}`, total: 0 };
    briefs.push(told.brief);
    total = Math.max(total, told.total);
    target = asked.target.includes('cursor=') ? told.next : undefined;
  }
  return { asked, digest: digest.digest('hex'), brief: briefs.join('\n'), total };
}

function whatItTells(
  text: string,
  { target, accept }: Asked,
): { brief: string; total: number; next?: string | undefined } {
  if (accept === 'text/csv') return { brief: text, total: text.split('\r\n').length - 2 };
  if (accept === 'application/geo+json') {
    return { brief: text, total: (JSON.parse(text) as { numberMatched: number }).numberMatched };
  }
  if (target.includes('/suggest')) {
    return { brief: text, total: (JSON.parse(text) as { suggestions: object[] }).suggestions.length };
  }
  const { hits, aggregations, links } = JSON.parse(text) as Listing;
  const brief = JSON.stringify({ total: hits.total, ids: hits.hits.map(({ id }) => id), aggregations });
  const next = links['next'];
  return { brief, total: hits.total, next: next === undefined ? undefined : withoutOrigin(next) };
}

const withoutOrigin = (url: string): string => url.slice(new URL(url).origin.length);

test(
  `${QUERY_COUNT} queries of strangers are answered as if nothing hidden were there (seed ${seed})`,
  async () => {
    const open = await inTurns(numbers(PUBLIC_COUNT), publicEntity, 4);
    await until(async () => {
      const { hits } = await owner.sure<Listing>('GET', '/search?size=1');
      return hits.total === PUBLIC_COUNT;
    });
    await indexed();
    // Entities without a twin are requested as often as those with one.
    const ids = open.flatMap(({ id, parent }) => [id, parent.id]);
    const asked = numbers(QUERY_COUNT).map((at) => ({
      stranger: strangers[at % strangers.length] ?? {},
      question: chanceQuestion(chance(QUERIES, at), ids),
    }));
    const askAll = () => inTurns(asked, ({ stranger, question }) => askedBy(stranger, question));

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
      return one.digest === other.digest ? [] : [{ ...one.asked, before: one.brief, after: other.brief }];
    });
    process.stdout.write(
      `${before.length} queries, ${before.filter(({ total }) => total > 0).length} of them with hits, ` +
        `${before.filter(({ brief }) => /^\d{3} /.test(brief)).length} refused, ${hidden.length} twins\n`,
    );
    expect({ count: different.length, some: different.slice(0, 5) }).toEqual({ count: 0, some: [] });
    expect(before.filter(({ total }) => total > 0).length).toBeGreaterThan(QUERY_COUNT / 4);
  },
  PATIENCE_MS,
);
