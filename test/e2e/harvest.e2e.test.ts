import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPython, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, Listing } from './story/answers.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { packageOfResources, publish, publishedRecord } from './story/stories.ts';

const run = promisify(execFile);
const FOLDER = join(import.meta.dirname, 'pages');
const SCHEMAS = resolve(import.meta.dirname, '../../../shared/schemas');
const PACKAGES = 10;
const RESOURCES = 99;

const python = await openPython(join(FOLDER, 'requirements.txt'));
let system: TestSystem;
let author: HttpClient;
let admin: HttpClient;
let folder: string;
/** Ids of everything that was published before the harvest. */
let published: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-oai-'));
  system = await startSystem({ hasPages: true });
  author = httpClient(system.baseUrl, system.token);
  admin = httpClient(system.baseUrl, (await system.createUser('root', { admin: true })).token);
  published = [];
  for (let number = 0; number < PACKAGES; number += 1) {
    const { main, resources } = await packageOfResources(author, `Rivers ${number}`, RESOURCES);
    await publish(author, main);
    published.push(main.id, ...resources.map(({ id }) => id));
  }
  const total = async () => (await author.sure<Listing<Entity>>('GET', '/search?size=1')).hits.total;
  await until(async () => (await total()) >= published.length);
});
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function oai(query: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(`${system.baseUrl}/oai2d${query === '' ? '' : `?${query}`}`, init);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/xml; charset=utf-8']);
  return response.text();
}

const identifiersIn = (text: string) =>
  [...text.matchAll(/<identifier>([^<]+)<\/identifier>/g)].map(([, id]) => id);
const idOf = (identifier: string) => identifier.split(':').at(-1) ?? '';
const errorIn = (text: string) => /<error code="(\w+)">/.exec(text)?.[1];

describe('OAI-PMH', () => {
  ('missing' in python ? test.skip : test)(
    `Sickle harvests 1,000 entities while others are published and removed${'missing' in python ? ` (${python.missing})` : ''}`,
    async () => {
      if ('missing' in python) return;
      const before = published.slice(0, 5);
      for (const id of before.slice(1)) await remove(id);
      const child = spawn(python.python, [join(FOLDER, 'harvest.py'), `${system.baseUrl}/oai2d`, 'oai_dc']);
      let output = '';
      let harvested = 0;
      child.stdout.on('data', (part) => {
        output += String(part);
      });
      child.stderr.on('data', (part) => {
        harvested += String(part).split('harvested').length - 1;
      });
      const ended = new Promise((done) => child.once('exit', done));
      await until(() => harvested > 0);
      const added: string[] = [];
      const removed = published.slice(-5);
      for (const id of removed) {
        await remove(id);
        added.push((await publishedRecord(author, 'Published meanwhile')).id);
      }
      expect(await ended).toBe(0);
      const { live, deleted } = JSON.parse(output) as { live: string[]; deleted: string[] };
      const ids = live.map(idOf);
      const gone = new Set([...before.slice(1), ...removed]);
      const staying = published.filter((id) => !gone.has(id));
      expect(new Set(ids).size).toBe(ids.length);
      expect(staying.filter((id) => !ids.includes(id))).toEqual([]);
      const others = ids.filter((id) => !staying.includes(id));
      expect(others.filter((id) => !added.includes(id) && !removed.includes(id))).toEqual([]);
      expect(deleted.map(idOf).sort()).toEqual([...before.slice(1)].sort());
      // Entities that were removed meanwhile are part of the next harvest.
      const { stdout } = await run(python.python, [
        join(FOLDER, 'harvest.py'),
        `${system.baseUrl}/oai2d`,
        'oai_dc',
      ]);
      const next = JSON.parse(stdout) as { live: string[]; deleted: string[] };
      expect(next.deleted.map(idOf).sort()).toEqual([...gone].sort());
      expect(added.filter((id) => !next.live.map(idOf).includes(id))).toEqual([]);
    },
  );

  test('verbs, sets, dates and errors', async () => {
    const identify = await oai('verb=Identify');
    expect(identify).toContain('<deletedRecord>persistent</deletedRecord>');
    expect(await oai('', { method: 'POST', body: new URLSearchParams({ verb: 'Identify' }) })).toContain(
      '<granularity>YYYY-MM-DDThh:mm:ssZ</granularity>',
    );
    const packages = await oai('verb=ListIdentifiers&metadataPrefix=oai_dc&set=packages');
    expect(packages.match(/<setSpec>packages<\/setSpec>/g)?.length).toBeGreaterThanOrEqual(PACKAGES);
    const ofPackage = await oai(`verb=ListIdentifiers&metadataPrefix=oai_dc&set=package:${published[0]}`);
    expect(identifiersIn(ofPackage).length).toBeGreaterThan(90);
    expect(errorIn(await oai('verb=ListRecords&metadataPrefix=oai_dc&from=2030-01-01'))).toBe(
      'noRecordsMatch',
    );
    expect(
      errorIn(await oai('verb=ListRecords&metadataPrefix=oai_dc&from=2026-01-01&until=2026-01-02T00:00:00Z')),
    ).toBe('badArgument');
    expect(errorIn(await oai('verb=ListRecords&metadataPrefix=unknown'))).toBe('cannotDisseminateFormat');
    expect(errorIn(await oai('verb=ListRecords&resumptionToken=forged'))).toBe('badResumptionToken');
    expect(errorIn(await oai('verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:x:abcde-12345'))).toBe(
      'idDoesNotExist',
    );
    expect(errorIn(await oai('verb=Identify&verb=Identify'))).toBe('badVerb');
    expect(errorIn(await oai('verb=Identify&from=2026-01-01'))).toBe('badArgument');
  });

  test('a token works again later, and in every process', async () => {
    const first = await oai('verb=ListIdentifiers&metadataPrefix=oai_dc');
    const token = /<resumptionToken[^>]*>([^<]+)</.exec(first)?.[1] ?? '';
    const again = async () => identifiersIn(await oai(`verb=ListIdentifiers&resumptionToken=${token}`));
    const second = await again();
    expect(second.length).toBe(100);
    expect(second.filter((id) => identifiersIn(first).includes(id))).toEqual([]);
    expect(await again()).toEqual(second);
  });

  test('removed and restricted entities', async () => {
    const removed = await publishedRecord(author, 'Removed from harvests');
    const { pids } = await author.sure<{ pids: { oai: { identifier: string } } }>(
      'GET',
      `/records/${removed.id}`,
    );
    await remove(removed.id);
    const text = await oai(`verb=GetRecord&metadataPrefix=datacite&identifier=${pids.oai.identifier}`);
    expect(text).toContain(`<header status="deleted"><identifier>${pids.oai.identifier}</identifier>`);
    expect(text).not.toContain('<metadata>');
  });

  ('missing' in python || !existsSync(SCHEMAS) ? test.skip : test)(
    `answers are valid by the schemas of OAI-PMH, Dublin Core and DataCite${existsSync(SCHEMAS) ? '' : ' (needs ../shared/schemas)'}`,
    async () => {
      if ('missing' in python) return;
      const queries = [
        'verb=Identify',
        'verb=ListSets',
        'verb=ListMetadataFormats',
        'verb=ListRecords&metadataPrefix=oai_dc',
        'verb=ListRecords&metadataPrefix=datacite',
        'verb=ListIdentifiers&metadataPrefix=oai_dc&set=packages',
        'verb=unknown',
      ];
      const files = await Promise.all(
        queries.map(async (query, index) => {
          const file = join(folder, `${index}.xml`);
          await writeFile(file, await oai(query));
          return file;
        }),
      );
      const { stdout } = await run(python.python, [join(FOLDER, 'validate_oai.py'), SCHEMAS, ...files]);
      expect(stdout).toBe('');
    },
  );
});

async function remove(id: string): Promise<void> {
  const index = published.indexOf(id);
  const kind = index >= 0 && index % (RESOURCES + 1) === 0 ? 'packages' : 'records';
  await admin.sure('DELETE', `/${kind}/${id}?wait_for_index=true`, {
    json: { removal_reason: { id: 'takedown-request' }, note: '' },
  });
}
