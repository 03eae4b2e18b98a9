import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import {
  EXAMPLE_FOLDERS,
  type ExampleEntity,
  type ExamplePackage,
  readExamplePackage,
} from './story/example-package.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { lostParts } from './story/lost-parts.ts';
import { link, relate, upload } from './story/stories.ts';

const run = promisify(execFile);
const kr = resolve(import.meta.dirname, '../../clients/kr/src/main.ts');
const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('hex');

let system: SharedSystem;
let author: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  anonymous = httpClient(system.baseUrl);
});
afterAll(() => system?.stop());

/** A draft with all members of the example. */
async function load(collection: string, example: ExampleEntity): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', collection, { json: example.document });
  for (const { key, bytes } of example.files) await upload(author, draft, key, bytes);
  return example.wantsDoi ? author.sure<Entity>('POST', link(draft, 'reserve_doi')) : draft;
}

describe.each(EXAMPLE_FOLDERS.map((folder) => [basename(folder), folder]))('%s', (_, folder) => {
  let example: ExamplePackage;
  let main: Entity;
  let resources: Entity[];
  /** Everything loaded, beside what it was loaded from. */
  let pairs: { example: ExampleEntity; url: string; draft: Entity; collection: string }[];

  beforeAll(async () => {
    example = await readExamplePackage(folder);
    main = await load('/packages', example.main);
    resources = await Promise.all(example.resources.map((resource) => load('/records', resource)));
    pairs = [
      { example: example.main, url: link(main, 'record'), draft: main, collection: '/packages' },
      ...example.resources.map((resource, index) => {
        const draft = resources[index] ?? main;
        return { example: resource, url: link(draft, 'record'), draft, collection: '/records' };
      }),
    ];
    await relate(author, main, resources);
  });

  test('only its author sees it before it is published', async () => {
    const seen = await Promise.all(
      pairs.flatMap(({ url, draft }) => [
        anonymous.call('GET', url),
        anonymous.call('GET', link(draft, 'self')),
        anonymous.call('GET', `${url}/files`),
      ]),
    );
    const found = await anonymous.sure<Listing>('GET', `/search?q=id:"${main.id}"`);
    expect([seen.map(({ status }) => status), found.hits.total]).toEqual([
      pairs.flatMap(() => [404, 401, 404]),
      0,
    ]);
  });

  test('is published with all its resources by one request', async () => {
    const answer = await author.call<Entity>('POST', link(main, 'publish'));
    expect({
      status: answer.status,
      is_published: answer.body.is_published,
      state: answer.body.status,
      versions: answer.body.versions,
      resources: answer.body.relationship.resources,
    }).toEqual({
      status: 202,
      is_published: true,
      state: 'published',
      versions: { index: 1, is_latest: true, is_latest_draft: true },
      resources: resources.map(({ id }) => ({ id })),
    });
    const statuses = await Promise.all(
      pairs.map(async ({ url }) => (await anonymous.call('GET', url)).status),
    );
    expect(statuses).toEqual(pairs.map(() => 200));
  });

  test('nothing that was sent is lost, but what vocabularies decide', async () => {
    const lost = await Promise.all(
      pairs.map(async ({ example: { document }, url, collection }) => {
        const { metadata, errors } = await anonymous.sure<Entity>('GET', url);
        // The resource type of a package is always the same.
        const sent =
          collection === '/packages'
            ? { ...document.metadata, resource_type: { id: 'knowledge' } }
            : document.metadata;
        return { lost: lostParts(sent, metadata), errors };
      }),
    );
    expect(lost).toEqual(pairs.map(() => ({ lost: [], errors: undefined })));
  });

  test('shows strangers the DOI, the relations and the access, but no owner', async () => {
    const shown = await Promise.all(
      pairs.map(async ({ url }) => {
        const { id, pids, access, parent, relationship } = await anonymous.sure<Entity>('GET', url);
        return { id, doi: pids['doi'], oai: pids['oai'], access, owners: parent.access, relationship };
      }),
    );
    expect(shown).toEqual(
      pairs.map(({ draft: { id }, collection }) => ({
        id,
        doi: { identifier: `10.5072/${id}`, provider: 'local', client: 'local' },
        oai: { identifier: expect.stringMatching(new RegExp(`^oai:.+:${id}$`)), provider: 'oai' },
        access: {
          record: 'public',
          files: 'public',
          embargo: { active: false, reason: null },
          status: 'open',
        },
        owners: undefined,
        relationship:
          collection === '/packages'
            ? { resources: resources.map((resource) => ({ id: resource.id })) }
            : { packages: [{ id: main.id }] },
      })),
    );
  });

  test('gives the bytes of every file with their checksum and headers', async () => {
    for (const {
      example: { files },
      url,
    } of pairs) {
      const published = await anonymous.sure<Entity>('GET', url);
      const listing = await anonymous.sure<FilesListing>('GET', link(published, 'files'));
      expect(listing.entries.map(({ key, checksum, size }) => ({ key, checksum, size }))).toEqual(
        files.map(({ key, bytes }) => ({ key, checksum: `md5:${md5(bytes)}`, size: bytes.length })),
      );
      for (const [index, entry] of listing.entries.entries()) {
        const { headers, status, bytes } = await anonymous.call('GET', link(entry, 'content'));
        const sent = files[index]?.bytes ?? Buffer.alloc(0);
        const names = ['content-length', 'content-md5', 'etag'];
        expect({ status, same: bytes.equals(sent), headers: names.map((name) => headers.get(name)) }).toEqual(
          {
            status: 200,
            same: true,
            headers: [String(sent.length), md5(sent), `"md5:${md5(sent)}"`],
          },
        );
        expect({
          type: headers.get('content-type'),
          disposition: headers.get('content-disposition'),
          date: Number.isNaN(Date.parse(headers.get('date') ?? '')),
          modified: Number.isNaN(Date.parse(headers.get('last-modified') ?? '')),
          sniff: headers.get('x-content-type-options'),
        }).toEqual({
          type: expect.stringMatching(/^(application\/octet-stream|text\/plain.*)$/),
          disposition: expect.stringMatching(/^(inline|attachment; ?filename=.*)/),
          date: false,
          modified: false,
          sniff: 'nosniff',
        });
        const part = await anonymous.call('GET', link(entry, 'content'), { headers: { range: 'bytes=1-3' } });
        expect([part.status, part.bytes.equals(sent.subarray(1, 4))]).toEqual([206, true]);
      }
    }
  });

  test('is found by its title, by kind and in the listings', async () => {
    const everywhere = async () => {
      const found = await Promise.all(
        pairs.map(async ({ example: { document }, draft: { id }, collection }) => {
          const title = encodeURIComponent(`"${String(document.metadata['title'])}"`);
          const lists = await Promise.all(
            [`/search?q=${title}`, `${collection}?q=${title}`, `${collection}?size=1000`].map((target) =>
              anonymous.sure<Listing>('GET', target),
            ),
          );
          return lists.every(({ hits }) => hits.hits.some((hit) => hit.id === id));
        }),
      );
      return found.every(Boolean);
    };
    expect(await until(everywhere)).toBe(true);
    const others = await anonymous.sure<Listing>('GET', '/records?q=zzzqqqxxx');
    expect(others.hits).toEqual({ hits: [], total: 0 });
  });

  test('a hit is what the item itself answers', async () => {
    for (const {
      draft: { id },
      url,
    } of pairs) {
      const { hits } = await anonymous.sure<Listing>('GET', `/search?q=id:"${id}"`);
      expect(hits).toEqual({ hits: [await anonymous.sure<Entity>('GET', url)], total: 1 });
    }
  });

  test('lists its resources to strangers', async () => {
    const listed = await anonymous.sure<Listing>('GET', `/packages/${main.id}/resources`);
    expect(listed.hits.hits.map(({ id }) => id).sort()).toEqual(resources.map(({ id }) => id).sort());
  });

  test('what was read can be sent back unchanged', async () => {
    for (const { url } of pairs) {
      const published = await author.sure<Entity>('GET', url);
      const edit = await author.sure<Entity>('POST', link(published, 'draft'));
      const put = await author.sure<Entity>('PUT', link(edit, 'self'), { json: edit });
      expect({ metadata: put.metadata, errors: put.errors, pids: put.pids }).toEqual({
        metadata: published.metadata,
        errors: undefined,
        pids: published.pids,
      });
      await author.sure('DELETE', link(edit, 'self'));
    }
  });
});

describe('the command-line client', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-client-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const krRun = async (...args: string[]) => {
    const { stdout } = await run(process.execPath, [kr, ...args], {
      cwd: folder,
      timeout: 60_000,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        KR_BASE_URL: system.baseUrl,
        KR_TOKEN: system.token,
      },
    });
    return stdout;
  };

  test.each(EXAMPLE_FOLDERS.map((path) => [basename(path), path]))(
    'loads %s, shows, finds and downloads it',
    async (_, path) => {
      const example = await readExamplePackage(path);
      const loaded = JSON.parse(await krRun('package', 'load', path, '--publish', '--json'));
      const all: { id: string; title: string; is_published: boolean; doi: string; files: unknown[] }[] = [
        loaded.package,
        ...loaded.resources,
      ];
      const examples = [example.main, ...example.resources];
      expect(all.map(({ title, is_published, doi, files }) => ({ title, is_published, doi, files }))).toEqual(
        examples.map(({ document, files }, index) => ({
          title: document.metadata['title'],
          is_published: true,
          doi: `10.5072/${all[index]?.id}`,
          files: files.map(({ key, bytes }) => ({ key, size: bytes.length, checksum: `md5:${md5(bytes)}` })),
        })),
      );

      const { id } = loaded.package;
      const document = JSON.parse(await krRun('get', id, '--json'));
      expect([document.id, document.relationship.resources]).toEqual([
        id,
        loaded.resources.map((resource: { id: string }) => ({ id: resource.id })),
      ]);
      await until(async () => (await krRun('search', `id:"${id}"`)).includes(id));

      for (const [index, { id: one }] of all.entries()) {
        const target = join(folder, one);
        await krRun('download', one, '--to', target);
        const files = examples[index]?.files ?? [];
        const names = await readdir(target, { recursive: true, withFileTypes: true });
        const got = await Promise.all(
          names
            .filter((entry) => entry.isFile())
            .map(async (entry) => [entry.name, md5(await readFile(join(entry.parentPath, entry.name)))]),
        );
        expect(got.sort()).toEqual(files.map(({ key, bytes }) => [key, md5(bytes)]).sort());
      }
    },
  );
});
