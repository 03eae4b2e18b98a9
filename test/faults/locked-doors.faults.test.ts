import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { Entity, Failed } from '../e2e/story/answers.ts';
import { databaseDigest } from '../e2e/story/database-digest.ts';
import { packageDocument } from '../e2e/story/documents.ts';
import { type Answer, type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link } from '../e2e/story/stories.ts';
import { type Collection, DOORS, knock, NO_DOORS, type Place, PUBLISHING, places } from './doors.ts';
import { holdDecisions } from './held-decisions.ts';

const COLLECTIONS = ['packages', 'records'] as const;
/** A publication goes on while it is held; what it notes about itself is no change of a draft. */
const ITS_OWN_LOG = ['publication', 'participant'];
const SHUT = { status: 409, code: 'draft_locked', retryAfter: '1' };

let system: TestSystem;
let author: HttpClient;
let databases: Client[];
/** The routes below one entity that are no reads, as the served OpenAPI document has them. */
let routes: Record<Collection, string[]>;
beforeAll(async () => {
  // The decision is held for as long as the tests knock.
  system = await startSystem({ settings: { publishDeadlineMs: 600_000 } });
  author = httpClient(system.baseUrl, system.token);
  const { records, packages, files } = system.databaseUrls;
  databases = [records, packages, files].map((connectionString) => new Client({ connectionString }));
  await Promise.all(databases.map((database) => database.connect()));
  const { paths } = await author.sure<{ paths: Record<string, object> }>('GET', '/openapi.json');
  routes = { packages: changing(paths, 'packages'), records: changing(paths, 'records') };
});
afterAll(async () => {
  await Promise.all((databases ?? []).map((database) => database.end()));
  await system?.stop();
});

function changing(paths: Record<string, object>, collection: Collection): string[] {
  const one = `/api/${collection}/{id}`;
  return Object.entries(paths)
    .filter(([path]) => path === one || path.startsWith(`${one}/`))
    .flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['post', 'put', 'patch', 'delete'].includes(method))
        .map((method) => `${method.toUpperCase()} ${path.slice(one.length)}`),
    );
}

const of = (table: object, collection: Collection): string[] =>
  Object.keys(table).filter((route) => routes[collection].includes(route));

/** Waits until the publication has locked all drafts that it publishes. */
async function locked(...ids: string[]): Promise<void> {
  const query = 'select from draft where id = any($1) and locked_by is not null';
  await until(
    async () => {
      const counts = await Promise.all(
        databases.slice(0, 2).map(async (database) => (await database.query(query, [ids])).rowCount ?? 0),
      );
      return counts.reduce((sum, count) => sum + count, 0) === ids.length;
    },
    { what: 'the locks' },
  );
}

/** Tries every door as the author and as the holder of an edit link; returns the open ones. */
async function openDoors(place: Place): Promise<unknown[]> {
  const holder = httpClient(system.baseUrl);
  const asHolder: HttpClient = {
    ...holder,
    call: (method, target, sent) => holder.call(method, `${target}?token=${place.token}`, sent),
  };
  const found: unknown[] = [];
  for (const route of of(DOORS, place.collection)) {
    for (const [who, client] of Object.entries({ author, asHolder })) {
      const { status, body, headers } = await knock(client, route, doorOf(route).sends, place);
      const answer = { status, code: body?.code, retryAfter: headers.get('retry-after') };
      if (JSON.stringify(answer) !== JSON.stringify(SHUT)) found.push({ route, who, ...answer });
    }
  }
  return found;
}

function doorOf(route: string) {
  const door = DOORS[route];
  if (door === undefined) throw new Error(`${route} is no door`);
  return door;
}

const drafts = () => databaseDigest(databases, { except: ITS_OWN_LOG });

test.each(COLLECTIONS)('every route of %s that changes anything is in one of the tables', (collection) => {
  const known = [...Object.keys(DOORS), ...Object.keys(NO_DOORS), PUBLISHING];
  expect(routes[collection].filter((route) => !known.includes(route))).toEqual([]);
});

test('every route of the tables is one of the document', () => {
  const all = new Set([...routes.packages, ...routes.records]);
  expect([...Object.keys(DOORS), ...Object.keys(NO_DOORS)].filter((route) => !all.has(route))).toEqual([]);
});

test('every door of an open draft is open', async () => {
  const open = await places(author, { isReady: false });
  const refused: unknown[] = [];
  for (const collection of COLLECTIONS) {
    for (const route of of(DOORS, collection)) {
      const { sends, whenOpen } = doorOf(route);
      const { status, text } = await knock(author, route, sends, open[collection]);
      if (status !== whenOpen) refused.push({ collection, route, status, text });
    }
  }
  expect(refused).toEqual([]);
});

describe('while the decision is not made', () => {
  test('no door of a package and of its resource opens, and what is no door changes no draft', async () => {
    const { packages, records } = await places(author, { isReady: true });
    const { letGo } = await holdDecisions(system.databaseUrls.packages);
    const publishing = [publish(packages)];
    try {
      await locked(packages.draft.id, records.draft.id);
      const before = await drafts();
      const found = [...(await openDoors(packages)), ...(await openDoors(records))];
      expect({ found, drafts: await drafts() }).toEqual({ found: [], drafts: before });

      const content = await contentOf(packages, records);
      const strange: unknown[] = [];
      for (const place of [packages, records]) {
        for (const route of of(NO_DOORS, place.collection)) {
          const { sends, whileLocked } = NO_DOORS[route] as (typeof NO_DOORS)[string];
          const { status, text } = await knock(author, route, sends, place);
          if (status !== whileLocked[place.collection])
            strange.push({ place: place.collection, route, status, text });
        }
      }
      // A concurrent publish of the package waits for the same decision; one of its resource is rejected.
      publishing.push(publish(packages));
      const alone = await publish(records);
      expect({
        strange,
        alone: [alone.status, alone.body.code],
        content: await contentOf(packages, records),
      }).toEqual({ strange: [], alone: [409, 'draft_locked'], content });
    } finally {
      await letGo();
    }
    const answers = (await Promise.all(publishing)).map(({ status }) => status);
    expect(answers.filter((status) => ![202, 503].includes(status))).toEqual([]);
    await until(async () => (await publish(packages)).status === 202);
    const { metadata } = await author.sure<Entity>('GET', `/records/${records.draft.id}`);
    expect(metadata['title']).toBe('Next');
  });

  test('no door of a resource that is published alone opens, neither its own nor by way of its package', async () => {
    const { packages, records } = await places(author, { isReady: true });
    const { letGo } = await holdDecisions(system.databaseUrls.packages);
    const publishing = publish(records);
    try {
      await locked(records.draft.id);
      const before = await drafts();
      const found = await openDoors(records);
      const dissociated = await author.call<Failed>('POST', link(packages.draft, 'context_dissociate'), {
        json: { records: [{ id: records.draft.id }] },
      });
      expect({ found, dissociated: dissociated.body.code, drafts: await drafts() }).toEqual({
        found: [],
        dissociated: 'draft_locked',
        drafts: before,
      });
      // The package itself is open; what it would do to the resource waits.
      const restricted = await author.call<Failed>('PUT', link(packages.draft, 'self'), {
        json: packageDocument('Closed', {
          withFiles: true,
          access: { record: 'restricted', files: 'restricted' },
        }),
      });
      const { access } = await author.sure<Entity>('GET', link(records.draft, 'self'));
      expect([restricted.body.code, access.record]).toEqual(['draft_locked', 'public']);
    } finally {
      await letGo();
    }
    expect([202, 503]).toContain((await publishing).status);
    await until(async () => (await publish(records)).status === 202);
  });
});

function publish({ draft }: Place): Promise<Answer<Failed>> {
  return author.call<Failed>('POST', link(draft, 'publish'), { timeoutMs: 120_000 });
}

/** The result of a publication of these drafts. */
function contentOf(...some: Place[]): Promise<unknown[]> {
  return Promise.all(
    some.map(async ({ draft }) => {
      const { metadata, access, pids, relationship, files } = await author.sure<Entity>(
        'GET',
        link(draft, 'self'),
      );
      return { metadata, access, pids, relationship, files };
    }),
  );
}
