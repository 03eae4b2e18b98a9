import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { POLICY } from '@kr/access-policy';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Listing } from '../e2e/story/answers.ts';
import { httpClient } from '../e2e/story/http-client.ts';
import { describe as describeAnswer, describeListing } from './answers.ts';
import { CALLER_NAMES, CALLERS, type CallerName, type LinkName } from './callers.ts';
import { ENTITY_ROUTES, type EntityRoute, partsOf } from './entity-routes.ts';
import { expectedAnswer, hasForm } from './expectation.ts';
import { inTurns, type ManyRequests, manyRequests } from './http.ts';
import { resourceLists, searchesFor } from './listings.ts';
import { KEYS, type Place } from './places.ts';
import { SITE_ROUTES } from './site-routes.ts';
import { type Collection, PLAIN, STATES, type State } from './states.ts';
import { buildWorld, type World } from './world.ts';

const COLLECTIONS = ['records', 'packages'] as const;
const ALL_LINKS: readonly LinkName[] = ['view', 'preview', 'edit', 'expired', 'revoked'];

/** One thing that one caller tries, and what comes of it by the policy. */
interface Cell {
  caller: CallerName;
  what: string;
  expected: string;
}

interface Tried extends Cell {
  answered: string;
}

interface Standing {
  name: string;
  place: Place;
}

let system: TestSystem;
let world: World;
let requests: ManyRequests;
let documented: string[];
/** Every entity that nobody is let change; the changes that are let happen have entities of their own. */
let standing: Standing[];
const counts: Record<string, number> = {};

beforeAll(async () => {
  // Nobody is to be turned away for asking so much.
  system = await startSystem({ environment: { RATE_LIMIT_ANONYMOUS: '0', RATE_LIMIT_USER: '0' } });
  world = await buildWorld(system);
  requests = manyRequests(system.baseUrl);
  const { paths } = await world.owner.sure<{ paths: Record<string, object> }>('GET', '/openapi.json');
  documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  standing = await inTurns(
    allStates(),
    async ({ name, collection, state }) => ({
      name,
      place: await world.build({ collection, state, links: ALL_LINKS, hasUploads: true }),
    }),
    6,
  );
  await allIndexed();
  await allExpired();
});
afterAll(async () => {
  await requests?.close();
  await system?.stop();
});

function allStates(): { name: string; collection: Collection; state: State }[] {
  return COLLECTIONS.flatMap((collection) =>
    Object.entries(STATES[collection]).map(([name, state]) => ({
      name: `${collection}: ${name}`,
      collection,
      state,
    })),
  );
}

/** Once an operator finds everything, whoever finds less is kept from it. */
async function allIndexed(): Promise<void> {
  const admin = httpClient(system.baseUrl, world.tokens.admin);
  const words = standing.flatMap(({ place }) => place.words.published ?? []);
  const published = async () => {
    const query = encodeURIComponent(words.join(' OR '));
    const { hits } = await admin.sure<Listing>('GET', `/search?q=${query}&size=1`);
    return hits.total === words.length;
  };
  await until(published, { what: 'the index' });
}

async function allExpired(): Promise<void> {
  await inTurns(standing, ({ place }) =>
    until(
      async () => {
        const target = `/api/${place.collection}/${place.id}/draft`;
        return (await requests.ask('GET', target, { link: place.links.expired })).status === 401;
      },
      { what: 'the end of a link' },
    ),
  );
}

function targetOf(route: string, { key = KEYS.committed }: EntityRoute, place: Place): string {
  const path = partsOf(route)
    .path.replace('{scheme}', 'doi')
    .replace('{key}', key)
    .replace('{uploadId}', place.uploadId)
    .replace('{linkId}', place.spareLinkId);
  return `/api/${place.collection}/${place.id}${path}`;
}

const routesOf = ({ collection }: Place): [string, EntityRoute][] =>
  Object.entries(ENTITY_ROUTES).filter(([, { only }]) => only === undefined || only === collection);

async function tryRoute(route: string, caller: CallerName, place: Place): Promise<Tried[]> {
  const row = ENTITY_ROUTES[route] as EntityRoute;
  const { method } = partsOf(route);
  const by = world.credentialsOf(CALLERS[caller], place.links);
  const sent = row.sends?.(place) ?? {};
  const headers = { ...sent.headers, ...(route.startsWith('RANGE ') ? { range: 'bytes=0-1' } : {}) };
  const target = targetOf(route, row, place);
  const expected = expectedAnswer(row, CALLERS[caller], place);
  const told = await requests.ask(method, target, by, { ...sent, headers });
  if (row.shows === 'upload' && told.status === 201)
    place.uploadId = String(told.headers['location']).split('/').at(-1) ?? '';
  const hasBody = method !== 'HEAD';
  const tried = {
    caller,
    what: route,
    expected: hasBody ? expected : expected.slice(0, 3),
    answered: describeAnswer(told, row.shows),
  };
  if (row.hasHead !== true) return [tried];
  const head = await requests.ask('HEAD', target, by, { headers });
  return [
    tried,
    { caller, what: `HEAD of ${route}`, expected: expected.slice(0, 3), answered: String(head.status) },
  ];
}

/** As many of them as anybody reads. */
const MOST_TOLD = 40;
const none = { unexpected: 0, among: [] };
const told = (found: readonly object[]) => ({
  unexpected: found.length,
  among: found.slice(0, MOST_TOLD),
});

const isUnexpected = ({ expected, answered }: Cell & { answered: string }) => expected !== answered;

function judged(part: string, name: string, tried: readonly Tried[]): object[] {
  counts[part] = (counts[part] ?? 0) + tried.length;
  return tried.filter(isUnexpected).map((cell) => ({ on: name, ...cell }));
}

/** What is said of a form that is not there is the same in all states of a stage, and tried in one of them. */
function isWorthwhile(row: EntityRoute, { state }: Place): boolean {
  const isThere = row.form === 'either' || hasForm(state, row.form);
  return isThere || row.isRepeatable === true || PLAIN.has(state);
}

/** Whether a try changes something, if all is as it should be. */
function isChange(row: EntityRoute, caller: CallerName, place: Place): boolean {
  return row.effect !== 'reads' && expectedAnswer(row, CALLERS[caller], place).startsWith('2');
}

test('every operation of the document is in one of the tables, and every row is an operation', () => {
  const ofEntities = COLLECTIONS.flatMap((collection) =>
    Object.entries(ENTITY_ROUTES)
      .filter(([, { only }]) => only === undefined || only === collection)
      .map(([route]) => {
        const { method, path } = partsOf(route);
        return `${method} /api/${collection}/{id}${path}`;
      }),
  );
  const ofListings = standing.flatMap(({ place }) =>
    [...searchesFor(place), ...resourceLists(place)].map((cell) => cell.documented),
  );
  const known = new Set([...ofEntities, ...ofListings, ...Object.keys(SITE_ROUTES)]);
  expect({
    missing: documented.filter((operation) => !known.has(operation)),
    stray: [...known].filter((operation) => !documented.includes(operation)),
  }).toEqual({ missing: [], stray: [] });
});

test('every action of the policy is tried', () => {
  const tried: string[] = Object.values(ENTITY_ROUTES).flatMap(({ action, alsoOnLoose = [] }) =>
    [action, alsoOnLoose].flat(),
  );
  const inWords = ['search', 'list_own', 'list_draft_resources', 'create', 'manage_tokens'];
  const inBodies = ['see_parent_access', 'see_draft_state'];
  const known = [...tried, ...inWords, ...inBodies];
  expect(Object.keys(POLICY).filter((action) => !known.includes(action))).toEqual([]);
});

describe('by the policy', () => {
  test('everybody is answered on every entity', async () => {
    const cells = standing.flatMap(({ name, place }) =>
      routesOf(place)
        .filter(([, row]) => isWorthwhile(row, place))
        .flatMap(([route, row]) =>
          CALLER_NAMES.filter((caller) => !isChange(row, caller, place)).map((caller) => ({
            name,
            place,
            route,
            caller,
          })),
        ),
    );
    const found = await inTurns(cells, async ({ name, place, route, caller }) =>
      judged('entities', name, await tryRoute(route, caller, place)),
    );
    expect(told(found.flat())).toEqual(none);
  });

  test('nobody finds more, nor counts of more', async () => {
    const cells = standing.flatMap(({ name, place }) =>
      [...searchesFor(place), ...resourceLists(place)].flatMap((listing) =>
        CALLER_NAMES.map((caller) => ({ name, place, listing, caller })),
      ),
    );
    const found = await inTurns(cells, async ({ name, place, listing, caller }) => {
      const by = world.credentialsOf(CALLERS[caller], place.links);
      const told = await requests.ask('GET', listing.target, by);
      const answered = describeListing(told, listing.id);
      return judged('listings', name, [
        { caller, what: listing.target, expected: listing.expected(CALLERS[caller]), answered },
      ]);
    });
    expect(told(found.flat())).toEqual(none);
  });

  test('everybody is answered about the site and about themselves', async () => {
    const { place } = standing[0] as Standing;
    // The owner last: it may revoke what the others are to be refused.
    const callers = [...CALLER_NAMES.filter((caller) => caller !== 'owner'), 'owner' as const];
    const found: object[] = [];
    for (const caller of callers) {
      const by = world.credentialsOf(CALLERS[caller], place.links);
      const tried = await inTurns(
        Object.entries(SITE_ROUTES),
        async ([route, { target, sends, expected }]) => {
          const { method, path } = partsOf(route);
          const told = await requests.ask(
            method,
            (target ?? path).replace('{tokenId}', world.spareTokenId),
            by,
            sends?.() ?? {},
          );
          const answered = describeAnswer(told);
          return { caller, what: route, expected: expected(CALLERS[caller]), answered };
        },
      );
      found.push(...judged('site', 'the site', tried));
    }
    expect(told(found)).toEqual(none);
  });

  test('everybody changes what they may', async () => {
    const cells = standing.flatMap(({ name, place: { collection, state }, place }) =>
      CALLER_NAMES.flatMap((caller) => {
        const routes = routesOf(place).filter(([, row]) => isChange(row, caller, place));
        const ending = routes.filter(([, { effect }]) => effect === 'ends');
        const [last, ...others] = ending.reverse();
        // Only one route can end a draft, so the others that do have one of their own.
        const runs = [routes.filter((one) => !others.includes(one)), ...others.map((one) => [one])];
        return last === undefined && routes.length === 0
          ? []
          : runs.map((run) => ({ name, collection, state, caller, run: run.map(([route]) => route) }));
      }),
    );
    const found = await inTurns(
      cells,
      async ({ name, collection, state, caller, run }) => {
        const { link } = CALLERS[caller];
        const place = await world.build({
          collection,
          state,
          links: link === undefined ? [] : [link],
          hasUploads: false,
        });
        const tried: Tried[] = [];
        for (const route of run) tried.push(...(await tryRoute(route, caller, place)));
        return judged('changes', name, tried);
      },
      8,
    );
    expect(told(found.flat())).toEqual(none);
  });

  test('enough was tried', () => {
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    process.stdout.write(`access matrix: ${all} cells ${JSON.stringify(counts)}\n`);
    expect(all).toBeGreaterThan(2_900);
  });
});
