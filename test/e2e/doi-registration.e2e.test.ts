import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type DataciteServer, openPython, startDatacite, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { link, publish, relate } from './story/stories.ts';

interface WithDois extends Entity {
  pids: { doi: { identifier: string; provider: string; client: string; state?: string } };
  parent: Entity['parent'] & { pids?: { doi: { identifier: string; state: string } } };
}

const ACCOUNT = { repository: 'RIVERS.REPOSITORY', password: 'in the test only', prefix: '10.5072' };
const run = promisify(execFile);
const python = await openPython(join(import.meta.dirname, 'pages', 'requirements.txt'));

let datacite: DataciteServer;
let system: TestSystem;
let author: HttpClient;
let admin: HttpClient;
let visitor: HttpClient;
beforeAll(async () => {
  datacite = await startDatacite({ ...ACCOUNT, domains: ['127.0.0.1'] });
  system = await startSystem({
    hasPages: true,
    environment: {
      DATACITE_URL: datacite.url,
      DATACITE_REPOSITORY: ACCOUNT.repository,
      DATACITE_PASSWORD: ACCOUNT.password,
    },
    settings: { doiScanMs: 50, doiRetryMs: 50 },
  });
  author = httpClient(system.baseUrl, system.token);
  admin = httpClient(system.baseUrl, (await system.createUser('root', { admin: true })).token);
  visitor = httpClient(system.baseUrl);
});
afterEach(() => {
  datacite.faults = () => 'none';
});
afterAll(async () => {
  await system?.stop();
  await datacite?.stop();
});

const conceptOf = ({ parent }: Entity) => `10.5072/${parent.id}`;
const doiOf = ({ id }: Entity) => `10.5072/${id}`;
const stateOf = (doi: string) => datacite.dois.get(doi)?.state;
const attributeOf = (doi: string, name: string) => datacite.dois.get(doi)?.attributes[name];
const read = (entity: Entity, client = visitor) =>
  client.sure<WithDois>('GET', `/records/${entity.id}`).then(({ pids }) => pids.doi.state);

/** Publishing with a DOI requires a publisher. */
const document = (
  title: string,
  { access }: Pick<NonNullable<Parameters<typeof recordDocument>[1]>, 'access'> = {},
) => recordDocument(title, { metadata: { publisher: 'River Observatory' }, ...(access ? { access } : {}) });
const reserve = (draft: Entity) => author.sure<Entity>('POST', link(draft, 'reserve_doi'));

async function publishedWithDoi(
  title: string,
  options: Parameters<typeof recordDocument>[1] = {},
): Promise<WithDois> {
  const json = document(title, options);
  const draft = await author.sure<Entity>('POST', '/records', { json });
  return (await publish(author, await reserve(draft))) as WithDois;
}

async function restrict(entity: Entity, record: 'public' | 'restricted', until?: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', `/records/${entity.id}/draft`);
  const access = {
    record,
    files: record,
    ...(until === undefined ? {} : { embargo: { active: true, until, reason: null } }),
  };
  const json = { ...document(String(entity.metadata['title'])), access };
  await author.sure('PUT', `/records/${entity.id}/draft`, { json });
  return publish(author, draft);
}

describe('DOIs are registered with DataCite', () => {
  test('of a published record: its own, and one for all versions that leads to the latest', async () => {
    const draft = await author.sure<Entity>('POST', '/records', { json: document('Gauges') });
    expect(stateOf(doiOf(draft))).toBeUndefined();
    const record = (await publish(author, await reserve(draft))) as WithDois;
    expect(record.pids.doi).toMatchObject({ identifier: doiOf(record), provider: 'datacite' });
    await until(async () => (await read(record)) === 'findable');

    expect(stateOf(doiOf(record))).toBe('findable');
    expect(datacite.dois.get(doiOf(record))?.attributes).toMatchObject({
      titles: [{ title: 'Gauges' }],
      url: `${system.baseUrl}/records/${record.id}`,
      relatedIdentifiers: expect.arrayContaining([
        { relatedIdentifier: conceptOf(record), relatedIdentifierType: 'DOI', relationType: 'IsVersionOf' },
      ]),
    });
    await until(() => stateOf(conceptOf(record)) === 'findable');
    expect(attributeOf(conceptOf(record), 'url')).toBe(`${system.baseUrl}/records/${record.id}/latest`);

    const page = await (await fetch(`${system.baseUrl}/records/${record.id}`)).text();
    expect(page).toContain(`>${doiOf(record)}</a> <span class="muted">registered with DataCite</span>`);
    await until(async () =>
      (await (await fetch(`${system.baseUrl}/records/${record.id}`)).text()).includes(
        `>${conceptOf(record)}</a>`,
      ),
    );

    const next = await author.sure<Entity>('POST', link(record, 'versions'));
    await author.sure('PUT', link(next, 'self'), { json: document('Gauges, second edition') });
    const second = await publish(author, await reserve(next));
    await until(async () => (await read(second)) === 'findable');
    const latest = `${system.baseUrl}/records/${second.id}/latest`;
    await until(() => attributeOf(conceptOf(record), 'url') === latest);
    expect(attributeOf(doiOf(record), 'titles')).toEqual([{ title: 'Gauges' }]);
    const { parent } = await visitor.sure<WithDois>('GET', `/records/${second.id}`);
    await until(() => parent.pids?.doi.identifier === conceptOf(record));
  });

  test('of a package and all its resources; changed metadata is sent again', async () => {
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Floods') });
    const resources: Entity[] = [];
    for (const title of ['Levels', 'Discharges', 'Sediments'])
      resources.push(await author.sure<Entity>('POST', '/records', { json: document(title) }));
    await relate(author, main, resources);
    for (const draft of [main, ...resources]) await reserve(draft);
    await publish(author, main);
    for (const entity of [main, ...resources]) {
      await until(() => stateOf(doiOf(entity)) === 'findable');
      await until(() => stateOf(conceptOf(entity)) === 'findable');
    }
    expect(attributeOf(doiOf(main), 'url')).toBe(`${system.baseUrl}/packages/${main.id}`);

    const record = await publishedWithDoi('Ice');
    const draft = await author.sure<Entity>('POST', `/records/${record.id}/draft`);
    await author.sure('PUT', `/records/${record.id}/draft`, { json: document('Ice on rivers') });
    await publish(author, draft);
    await until(() => JSON.stringify(attributeOf(doiOf(record), 'titles')).includes('Ice on rivers'));
  });

  test('hidden while it is restricted or removed, never sent if it was never public', async () => {
    const record = await publishedWithDoi('Wells');
    await until(() => stateOf(doiOf(record)) === 'findable' && stateOf(conceptOf(record)) === 'findable');
    await restrict(record, 'restricted');
    await until(() => stateOf(doiOf(record)) === 'registered' && stateOf(conceptOf(record)) === 'registered');
    await until(async () => (await read(record, author)) === 'hidden');
    await restrict(record, 'public');
    await until(() => stateOf(doiOf(record)) === 'findable' && stateOf(conceptOf(record)) === 'findable');

    const removal = { removal_reason: { id: 'spam' }, note: '' };
    expect((await admin.call('DELETE', `/records/${record.id}`, { json: removal })).status).toBe(204);
    await until(() => stateOf(doiOf(record)) === 'registered');
    expect((await admin.call('POST', `/records/${record.id}/restore`)).status).toBe(200);
    await until(() => stateOf(doiOf(record)) === 'findable');

    const secret = await publishedWithDoi('Springs', {
      access: { record: 'restricted', files: 'restricted' },
    });
    await until(async () => (await read(secret, author)) === 'unregistered');
    expect(stateOf(doiOf(secret))).toBeUndefined();
  });

  test('what DataCite refuses is parked with its reason until an operator retries it', async () => {
    // DataCite allows only the domains of the repository's settings.
    datacite.domains.splice(0);
    const record = await publishedWithDoi('Canals');
    await until(async () => (await read(record)) === 'failed');
    const listed = await adminCommand(system, 'doi', 'list', '--failed', '--json');
    const { dois } = JSON.parse(listed.out) as { dois: { doi: string; last_error: string }[] };
    const { last_error: reason } = dois.find(({ doi }) => doi === doiOf(record)) ?? {};
    expect(reason).toMatch(/^422: url: URL .* is not allowed by repository domain settings/);

    datacite.domains.push('127.0.0.1');
    expect(await adminCommand(system, 'doi', 'retry', '10.5072/nobody')).toMatchObject({ code: 1 });
    expect(await adminCommand(system, 'doi', 'retry', doiOf(record).toUpperCase())).toMatchObject({
      code: 0,
    });
    await until(async () => (await read(record)) === 'findable');
    expect((await adminCommand(system, 'doi', 'retry')).code).toBe(0);
    await until(async () => (await adminCommand(system, 'doi', 'list', '--failed')).err.includes('No DOI'));
  });

  test('reconcile finds what DataCite has otherwise', async () => {
    const record = await publishedWithDoi('Lakes');
    await until(() => stateOf(doiOf(record)) === 'findable' && stateOf(conceptOf(record)) === 'findable');
    datacite.dois.delete(doiOf(record));
    const { code, out } = await adminCommand(system, 'doi', 'reconcile');
    expect([code, out.includes(doiOf(record))]).toEqual([0, true]);
    await until(() => stateOf(doiOf(record)) === 'findable');
    await until(async () => (await adminCommand(system, 'doi', 'reconcile')).out.includes(', 0 sent again'));
  });

  test('publications go on while DataCite fails in every way, and every DOI is findable in the end', async () => {
    const faults = ['busy', 'none', 'cut', 'none', 'lost', 'none', 'limited'] as const;
    datacite.faults = (call) => faults[call % faults.length] ?? 'none';
    const records: Entity[] = [];
    for (let part = 0; part < 3; part += 1) {
      const batch = Array.from({ length: 5 }, (_, at) => publishedWithDoi(`Delta ${part}.${at}`));
      records.push(...(await Promise.all(batch)));
    }
    const missing = () => records.filter((one) => stateOf(doiOf(one)) !== 'findable');
    await until(() => missing().length === 0, { timeoutMs: 120_000 });
  });

  ('missing' in python ? test.skip : test)(
    `DataCite as tested here also serves its own client${'missing' in python ? ` (${python.missing})` : ''}`,
    async () => {
      if ('missing' in python) return;
      const script = join(import.meta.dirname, 'doi', 'drive_datacite.py');
      const { stdout } = await run(python.python, [
        script,
        datacite.url,
        ACCOUNT.repository,
        ACCOUNT.password,
      ]);
      expect(JSON.parse(stdout)).toEqual({
        draft: 'draft',
        taken: 'DataCiteServerError',
        'shown draft': 'findable',
        public: 'findable',
        title: 'Rivers',
        hidden: 'registered',
        shown: 'findable',
        'deleted public': 'DataCiteServerError',
        'deleted draft': 404,
        'without creators': 'DataCiteServerError',
        'wrong password': 'DataCiteUnauthorizedError',
      });
    },
  );
});
