import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openPool, quickDatabase, type SqlDatabase, statementNames } from '@kr/database';
import { createLogger } from '@kr/telemetry';
import { type DataciteServer, type FreshDatabase, freshDatabase, startDatacite, until } from '@kr/testbed';
import { dataciteClient } from './datacite.ts';
import { MIGRATIONS } from './migrations.ts';
import { type PublicView, startDoiRegistration } from './register-dois.ts';
import { doiStates } from './store.ts';

const ACCOUNT = { repository: 'RIVERS.REPOSITORY', password: 'in the test only', prefix: '10.5072' };
const HIDDEN: PublicView = { isPublic: false };

let datacite: DataciteServer;
let database: FreshDatabase;
let pool: ReturnType<typeof openPool>;
let sql: SqlDatabase;
let stop: () => Promise<void> = async () => undefined;
/** By id of the version. */
const views = new Map<string, PublicView>();

beforeAll(async () => {
  datacite = await startDatacite({ ...ACCOUNT, domains: ['repository.example.org'] });
  database = await freshDatabase();
  pool = openPool(new URL(database.url));
  sql = quickDatabase(pool, statementNames());
  // The columns of the lifecycle's table that the migration names.
  await pool.query(
    'create table version (id text primary key, parent_id text, document jsonb, visible boolean, removed_at timestamptz)',
  );
  for (const file of await readdir(MIGRATIONS.directory))
    await pool.query(await readFile(join(MIGRATIONS.directory, file), 'utf8'));
  const registration = startDoiRegistration({
    database: sql,
    datacite: dataciteClient({ ...ACCOUNT, url: new URL(datacite.url) }),
    readPublic: async (id) => views.get(id) ?? HIDDEN,
    transact: (run) => sql.$transaction(run),
    appendChangedEvents: async () => undefined,
    collection: 'records',
    baseUrl: new URL('https://repository.example.org'),
    logger: createLogger('test'),
    intervalMs: 20,
    retryMs: 20,
  });
  stop = registration.stop;
});
afterEach(() => {
  datacite.faults = () => 'none';
});
afterAll(async () => {
  await stop();
  await datacite?.stop();
  await pool?.end();
  await database?.drop();
});

async function published(id: string, view: PublicView): Promise<string> {
  views.set(id, view);
  const doi = `10.5072/${id}`;
  await pool.query('select note_doi($1, $2, false)', [doi, id]);
  return doi;
}

function publicView(id: string): PublicView {
  return {
    isPublic: true,
    id,
    parentId: 'fghij-67890',
    document: {
      id,
      created: '2026-05-04T00:00:00Z',
      updated: '2026-05-04T00:00:00Z',
      parent: { id: 'fghij-67890', type: 'resource' },
      versions: { index: 1 },
      pids: { doi: { identifier: `10.5072/${id}`, provider: 'datacite', state: 'pending' } },
      metadata: {
        title: 'Levels',
        publisher: 'River Observatory',
        publication_date: '2026-05-04',
        resource_type: { id: 'dataset' },
        creators: [{ person_or_org: { type: 'personal', family_name: 'Moreau', given_name: 'Lise' } }],
      },
      access: { record: 'public', files: 'public', status: 'open' },
    },
  };
}

const stateOf = (doi: string) => datacite.dois.get(doi)?.state;
const rowOf = async (doi: string) =>
  (await pool.query('select * from doi_registration where doi = $1', [doi])).rows[0];

test('the DOI of an embargoed version is registered when the embargo ends, and not before', async () => {
  const id = 'embar-00001';
  const end = new Date(Date.now() + 1_000);
  const doi = await published(id, { isPublic: false, until: end });
  await until(async () => (await rowOf(doi)).due_at?.getTime() === end.getTime());
  expect([stateOf(doi), (await rowOf(doi)).state]).toEqual([undefined, 'unregistered']);
  // Nothing else happens to the version: its embargo has ended.
  views.set(id, publicView(id));
  await until(() => stateOf(doi) === 'findable');
  expect(datacite.calls.filter(({ path }) => path.includes(id))).toHaveLength(1);
  expect(Date.now()).toBeGreaterThanOrEqual(end.getTime());
  await until(async () => (await rowOf(doi)).state === 'findable');
  expect((await rowOf(doi)).due_at).toBeNull();
});

test('a call without an answer ends at the timeout and is repeated; other DOIs do not wait for it', async () => {
  const calls = datacite.calls.length;
  datacite.faults = (call) => (call === calls + 1 ? 'hang' : 'none');
  const hanging = await published('hangs-00001', publicView('hangs-00001'));
  await until(() => datacite.calls.length > calls);
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, number) => `other-${10_000 + number}`).map((id) =>
      published(id, publicView(id)),
    ),
  );
  await until(() => others.every((doi) => stateOf(doi) === 'findable'));
  expect(stateOf(hanging)).toBeUndefined();
  await until(() => stateOf(hanging) === 'findable', { timeoutMs: 120_000 });
  // The row is written after DataCite has the DOI.
  await until(async () => (await rowOf(hanging)).state === 'findable');
  const { attempts, last_error } = await rowOf(hanging);
  expect([attempts, last_error]).toEqual([0, null]);
}, 180_000);

test('a DOI that is registered stays so when DataCite refuses an update', async () => {
  const id = 'edits-00001';
  const doi = await published(id, publicView(id));
  await until(async () => (await rowOf(doi)).state === 'findable');
  const domains = datacite.domains.splice(0, 1, 'elsewhere.example.org');
  await published(id, publicView(id));
  await until(async () => (await rowOf(doi)).refused_at !== null);
  expect(await doiStates(sql, [id])).toEqual(new Map([[doi, 'findable']]));
  const first = await published('first-00001', publicView('first-00001'));
  await until(async () => (await rowOf(first)).refused_at !== null);
  expect(await doiStates(sql, ['first-00001'])).toEqual(new Map([[first, 'failed']]));
  datacite.domains.splice(0, 1, ...domains);
});
