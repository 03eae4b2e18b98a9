import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { POLICY } from '@kr/access-policy';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Listing } from '../e2e/story/answers.ts';
import { httpClient } from '../e2e/story/http-client.ts';
import { openStream } from '../faults/republished-events.ts';
import { describe as describeAnswer, describeListing } from './answers.ts';
import { CALLER_NAMES, CALLERS, type CallerName, type LinkName } from './callers.ts';
import { ENTITY_ROUTES, type EntityRoute, partsOf } from './entity-routes.ts';
import { expectedAnswer, hasForm, may } from './expectation.ts';
import { type AskRoute, NEVER, refusing, slips } from './hidden-entities.ts';
import { inTurns, type ManyRequests, manyRequests } from './http.ts';
import { type AnswerScan, answerScan, digestsOf, keysOf, leaksOf } from './leaks.ts';
import { resourceLists, searchesFor } from './listings.ts';
import { KEYS, type Place } from './places.ts';
import { SITE_ROUTES } from './site-routes.ts';
import { type Collection, PLAIN, STATES, type State } from './states.ts';
import { wholeAnswer } from './whole-answer.ts';
import { buildWorld, type World } from './world.ts';

const COLLECTIONS = ['records', 'packages'] as const;
const ALL_LINKS: readonly LinkName[] = ['view', 'preview', 'edit', 'expired', 'revoked'];

/** One action of one caller, and its outcome by the policy. */
interface Cell {
  caller: CallerName;
  what: string;
  expected: string;
}

interface Tried extends Cell {
  answered: string;
}

/** Callers who may not know of entities in these states. */
const OUTSIDERS: readonly CallerName[] = [
  'anonymous',
  'stranger',
  'holder of an edit link of another entity',
];
const HIDDEN: readonly string[] = [
  'unpublished draft',
  'unpublished restricted draft',
  'published, restricted',
  'published, embargoed',
];

/** Of no title, as often as it takes. */
const NO_WORD = 'q';

interface Standing {
  name: string;
  place: Place;
}

let system: TestSystem;
let world: World;
let requests: ManyRequests;
let scan: AnswerScan;
let documented: string[];
/** Entities that no route changes; permitted changes have separate entities. */
let standing: Standing[];
const counts: Record<string, number> = {};

beforeAll(async () => {
  // No request may be rejected by rate limits.
  system = await startSystem({ logLevel: 'info' });
  world = await buildWorld(system);
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
  scan = answerScan(await keysOf(system), allTokens(), system);
  requests = manyRequests(system.baseUrl, scan.see);
  await allIndexed();
  await allExpired();
});
afterAll(async () => {
  await requests?.close();
  await system?.stop();
});

/** Every token that is made before the tries. */
function allTokens(): string[] {
  const ofLinks = standing.flatMap(({ place }) => Object.values(place.links));
  return [...Object.values(world.tokens), world.foreignLink, ...ofLinks];
}

function allStates(): { name: string; collection: Collection; state: State }[] {
  return COLLECTIONS.flatMap((collection) =>
    Object.entries(STATES[collection]).map(([name, state]) => ({
      name: `${collection}: ${name}`,
      collection,
      state,
    })),
  );
}

/** Once an operator finds everything, fewer hits of others are caused by the policy. */
async function allIndexed(): Promise<void> {
  const admin = httpClient(system.baseUrl, world.tokens.admin);
  const words = standing.flatMap(({ place }) => place.words.published ?? []);
  const published = async () => {
    const query = encodeURIComponent(words.join(' OR '));
    const { hits } = await admin.sure<Listing>('GET', `/search?q=${query}&size=1`);
    return hits.total === words.length;
  };
  await until(published, { what: 'the index' });
  const stream = await openStream(system.natsUrl);
  await stream.consumed().finally(stream.close);
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
    .replace('{format}', 'datacite-json')
    .replace('{uploadId}', place.uploadId)
    .replace('{linkId}', place.spareLinkId);
  return `/api/${place.collection}/${place.id}${path}`;
}

const routesOf = ({ collection }: Place): [string, EntityRoute][] =>
  Object.entries(ENTITY_ROUTES).filter(([, { only }]) => only === undefined || only === collection);

const ask: AskRoute = (route, caller, place, further = {}) => {
  const row = ENTITY_ROUTES[route] as EntityRoute;
  const by = world.credentialsOf(CALLERS[caller], place.links);
  const sent = row.sends?.(place) ?? {};
  const range = route.startsWith('RANGE ') ? { range: 'bytes=0-1' } : {};
  const headers = { ...sent.headers, ...range, ...further.headers };
  return requests.ask(partsOf(route).method, targetOf(route, row, place), by, { ...sent, headers });
};

async function tryRoute(route: string, caller: CallerName, place: Place): Promise<Tried[]> {
  const row = ENTITY_ROUTES[route] as EntityRoute;
  const { method } = partsOf(route);
  const expected = expectedAnswer(row, CALLERS[caller], place);
  const told = await ask(route, caller, place);
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
  const by = world.credentialsOf(CALLERS[caller], place.links);
  const head = await requests.ask('HEAD', targetOf(route, row, place), by);
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

/** Answers about an absent form are the same in all states of a stage, and tested in one of them. */
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
  const inWords = ['search', 'list_own', 'list_removals', 'create', 'manage_tokens'];
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

  test('no caller finds more, nor counts of more', async () => {
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

  test('an invalid link is no credential in the header either, and grants nothing', async () => {
    const { place } = standing.find(({ name }) => name === 'records: published, public') as Standing;
    const cells = routesOf(place).flatMap(([route, row]) =>
      (['expired', 'revoked'] as const).map((link) => ({ route, row, link })),
    );
    const found = await inTurns(cells, async ({ route, row, link }) => {
      const headers = { ...row.sends?.(place).headers, authorization: `AccessLink ${place.links[link]}` };
      const sent = { ...row.sends?.(place), headers };
      const { method } = partsOf(route);
      const answered = await requests.ask(method, targetOf(route, row, place), {}, sent);
      const wanted = '401 The access link is unknown, revoked or expired.';
      const said = describeAnswer(answered);
      return said === (method === 'HEAD' ? '401' : wanted) ? [] : [{ route, link, said }];
    });
    counts['links in headers'] = cells.length;
    expect(told(found.flat())).toEqual(none);
  });

  test('a refusal reveals only the refusal', async () => {
    const hidden = standing.filter(({ name }) => HIDDEN.some((state) => name.endsWith(`: ${state}`)));
    const cells = hidden.flatMap(({ place }) =>
      OUTSIDERS.flatMap((caller) => refusing(place, caller).map((route) => ({ place, caller, route }))),
    );
    const found = await inTurns(cells, ({ place, caller, route }) => slips(ask, place, caller, route));
    const refusals = found.map(({ refusal }) => refusal);
    const ofOneKind = Map.groupBy(
      refusals,
      ({ collection, stage, route, caller }) => `${collection}, ${stage}: ${route} by ${caller}`,
    );
    const unlike = [...ofOneKind]
      .map(([what, alike]) => ({ what, answers: [...new Set(alike.map(({ whole }) => whole))] }))
      .filter(({ answers }) => answers.length > 1);
    counts['refusals'] = cells.length;
    expect(told([...found.flatMap((one) => one.slips), ...unlike])).toEqual(none);
  });

  test('a list of a hidden entity equals that of a missing one', async () => {
    const hidden = standing.filter(({ name }) => HIDDEN.some((state) => name.endsWith(`: ${state}`)));
    const cells = hidden.flatMap(({ place }) => {
      const { id, parentId, collection } = place;
      const searches = ['/api/search', `/api/${collection}`, `/api/user/${collection}`].flatMap((path) => [
        `${path}?q=id:"${id}"`,
        `${path}?q="${parentId}"`,
        `${path}?q=${Object.values(place.words)[0]}`,
      ]);
      return [...searches, ...resourceLists(place).map(({ target }) => target)].flatMap((target) =>
        OUTSIDERS.map((caller) => ({ place, caller, target: encodeURI(target) })),
      );
    });
    const found = await inTurns(cells, async ({ place, caller, target }) => {
      const names = [place.id, place.parentId, ...Object.values(place.words)];
      const unknown = names.reduce(
        (path, name) => path.replace(name, name.includes('-') ? NEVER : NO_WORD.repeat(name.length)),
        target,
      );
      const by = world.credentialsOf(CALLERS[caller], place.links);
      const [one, other] = await Promise.all([target, unknown].map((path) => requests.ask('GET', path, by)));
      if (one === undefined || other === undefined) throw new Error('there are two answers');
      const all = [
        ...names,
        NEVER,
        ...Object.values(place.words).map(({ length }) => NO_WORD.repeat(length)),
      ];
      const [whole, never] = [wholeAnswer(one, all), wholeAnswer(other, all)];
      return whole === never ? [] : [{ target, caller, whole, never }];
    });
    counts['hidden lists'] = cells.length;
    expect(told(found.flat())).toEqual(none);
  });

  test('a discarded entity equals a missing one, except for its trail', async () => {
    const gone = await Promise.all(
      COLLECTIONS.map(async (collection) => {
        const state = STATES[collection]['unpublished draft'] as State;
        const place = await world.build({ collection, state, links: ['preview'], hasUploads: true });
        await world.owner.sure('DELETE', `/${collection}/${place.id}/draft`);
        return place;
      }),
    );
    const callers: readonly CallerName[] = [
      ...OUTSIDERS,
      'holder of a preview link',
      'owner',
      'administrator',
    ];
    const cells = gone.flatMap((place) =>
      routesOf(place).flatMap(([route, row]) => callers.map((caller) => ({ place, route, row, caller }))),
    );
    const found = await inTurns(cells, async ({ place, route, row, caller }) => {
      const names = [place.id, place.parentId, NEVER];
      const answered = await ask(route, caller, place);
      if (row.action === 'read_audit_log' && may(CALLERS[caller], 'read_audit_log', 'restricted'))
        return answered.status === 200 ? [] : [{ route, caller, answered: answered.text }];
      const unknown = await ask(route, caller, { ...place, id: NEVER, parentId: NEVER });
      const [whole, never] = [wholeAnswer(answered, names), wholeAnswer(unknown, names)];
      return whole === never ? [] : [{ route, caller, whole, never }];
    });
    counts['discarded'] = cells.length;
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
        // Only one route can end a draft, so the others that do have separate ones.
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

  test('no answer, log, event or row reveals a credential, or internals of the system', async () => {
    const keyed = { 'idempotency-key': 'one token' };
    const create = () =>
      world.owner.call<{ token: string }>('POST', '/user/tokens', {
        json: { name: 'keyed' },
        headers: keyed,
      });
    const [first, second] = [await create(), await create()];
    const tokens = [...allTokens(), first.body.token];
    const { leaks, ...looked } = await leaksOf(system, tokens);
    process.stdout.write(`checked ${scan.seen} answers and ${JSON.stringify(looked)}\n`);
    const personal = tokens.filter((token) => token.startsWith('kpat_'));
    expect({
      answered: scan.found.slice(0, MOST_TOLD),
      leaks,
      repeated: second.body.token,
      digests: await digestsOf(system, personal),
    }).toEqual({ answered: [], leaks: [], repeated: first.body.token, digests: personal.length });
    expect(Math.min(scan.seen, ...Object.values(looked))).toBeGreaterThan(100);
  });

  test('enough was tried', () => {
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    process.stdout.write(`access matrix: ${all} cells ${JSON.stringify(counts)}\n`);
    expect(all).toBeGreaterThan(2_900);
  });
});
