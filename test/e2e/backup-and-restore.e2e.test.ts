import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Client } from 'pg';
import type { AccessLink, Entity } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand } from './story/operator-command.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, type PackageOfResources, publish, relate, upload } from './story/stories.ts';

/** The answers that clients received, and must receive again from the restored system. */
interface Acknowledged {
  packages: PackageOfResources[];
  drafts: Entity[];
}

const PUBLISHERS = 3;
const FILE = Buffer.alloc(200_000, 'gauge ');

let folder: string;
let backup: string;
let system: TestSystem;
let author: HttpClient;
let token: string;
/** Those whose every step was answered before the backup began. */
let before: Acknowledged;
/** Every package that anybody began to publish, answered or not. */
let begun: PackageOfResources[];
let opened: { entity: Entity; link: AccessLink };
let documents: Map<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-backup-'));
  backup = join(folder, 'backup');
  system = await startSystem({ ownPostgres: true });
  token = system.token;
  author = insistentClient(httpClient(system.baseUrl, token));
});
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Publishes packages with files, one after the other, until stopped. */
async function keepPublishing(seen: Acknowledged, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const main = await author.sure<Entity>('POST', '/packages', { json: packageDocument('Floods') });
    const json = recordDocument('Gauges', { withFiles: true });
    const resources = [
      await author.sure<Entity>('POST', '/records', { json }),
      await author.sure<Entity>('POST', '/records', { json: recordDocument('Rivers') }),
    ];
    await upload(author, resources[0] as Entity, 'gauges.csv', FILE);
    await relate(author, main, resources);
    begun.push({ main, resources });
    await author.sure('POST', link(main, 'publish'));
    seen.packages.push({ main, resources });
    seen.drafts.push(await author.sure<Entity>('POST', '/records', { json: recordDocument('Later') }));
  }
}

/** Two stored documents that no service can render: one is malformed, one too large. */
async function plantUnreadable(): Promise<void> {
  const large = await author.sure<Entity>('POST', '/records', { json: recordDocument('Large') });
  const malformed = await author.sure<Entity>('POST', '/records', { json: recordDocument('Malformed') });
  const database = new Client({ connectionString: system.databaseUrls.records });
  await database.connect();
  try {
    await database.query(
      `update draft set document = jsonb_set(document, '{metadata,description}', to_jsonb(repeat('x', 20000000)))
       where id = $1`,
      [large.id],
    );
    await database.query(`update draft set document = '{}' where id = $1`, [malformed.id]);
  } finally {
    await database.end();
  }
}

async function documentsOf({ packages, drafts }: Acknowledged): Promise<Map<string, string>> {
  const targets = [
    ...packages.flatMap(({ main, resources }) => [
      `/packages/${main.id}`,
      ...resources.flatMap(({ id }) => [`/records/${id}`, `/records/${id}/files`]),
    ]),
    ...drafts.map(({ id }) => `/records/${id}/draft`),
    `/records/${opened.entity.id}/draft/files`,
  ];
  const texts = new Map<string, string>();
  for (const target of targets) {
    const { text } = await author.call('GET', target);
    texts.set(target, text.replaceAll(system.baseUrl, ''));
  }
  return texts;
}

const filesOf = async (path: string): Promise<string[]> =>
  (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

const newSystem = () => ({ logDir: join(folder, 'other', 'logs') });

describe('kr admin backup', () => {
  test('writes a whole folder while packages are published, and keeps keys to their owner', async () => {
    const entity = await author.sure<Entity>('POST', '/records', {
      json: recordDocument('Shared', { withFiles: true }),
    });
    await upload(author, entity, 'shared.bin', FILE);
    const shared = await author.sure<AccessLink>('POST', link(entity, 'access_links'), {
      json: { permission: 'preview' },
    });
    opened = { entity, link: shared };
    await plantUnreadable();
    begun = [];
    const seen: Acknowledged = { packages: [], drafts: [] };
    let isOver = false;
    const publishing = Promise.all(
      Array.from({ length: PUBLISHERS }, () => keepPublishing(seen, () => isOver)),
    );
    const reached = (count: number) =>
      Promise.race([publishing, until(() => seen.packages.length >= count, { what: 'the publishers' })]);
    await reached(2 * PUBLISHERS);
    before = { packages: [...seen.packages], drafts: [...seen.drafts] };
    documents = await documentsOf(before);
    const { code, err } = await adminCommand(system, 'backup', backup, '--with-secrets');
    await reached(seen.packages.length + PUBLISHERS);
    isOver = true;
    await publishing;

    expect({ code, partial: existsSync(`${backup}.partial`) }).toEqual({ code: 0, partial: false });
    expect(err).toContain('a reader of this folder can open every link');
    const modes = await Promise.all(
      [backup, join(backup, 'secrets', 'secrets.json')].map((one) => stat(one)),
    );
    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600]);
  });

  test('leaves a folder alone that is not empty, and a system that runs', async () => {
    const again = await adminCommand(system, 'backup', backup);
    const restored = await adminCommand(system, 'restore', backup, '--replace');
    expect([again.code, again.err, restored.code, restored.err]).toEqual([
      1,
      `${backup} is not empty.\n`,
      1,
      expect.stringContaining('Stop the system first'),
    ]);
  });
});

describe('kr admin restore', () => {
  beforeAll(() => system.stop());

  const table = () => join(backup, 'databases', 'records', 'draft.copy.gz');
  const manifest = () => join(backup, 'manifest.json');
  const anObject = async () => (await filesOf(join(backup, 'files', 'objects')))[0] as string;
  test.each([
    { name: 'a flipped byte of a table', file: table, change: flip, says: 'draft.copy.gz is damaged' },
    { name: 'a missing table', file: table, change: unlink, says: 'draft.copy.gz is missing' },
    { name: 'a flipped byte of an object', file: anObject, change: flip, says: 'is damaged' },
    { name: 'a missing object', file: anObject, change: unlink, says: 'is missing' },
    {
      name: 'a changed manifest',
      file: manifest,
      change: (file: string) => rewrite(file, '"objects": ', '"objects": 1'),
      says: 'manifest.json is damaged',
    },
    {
      name: 'a later format',
      file: manifest,
      change: (file: string) => rewrite(file, '"format": 1', '"format": 2'),
      says: 'this release reads up to 1',
    },
    { name: 'no manifest', file: manifest, change: unlink, says: 'is not a backup' },
  ])('refuses $name before it changes anything', async ({ file, change, says }) => {
    const path = await file();
    const kept = join(folder, 'kept');
    await cp(path, kept);
    await change(path);
    const { code, err } = await adminCommand(newSystem(), 'restore', backup);
    await rm(path, { force: true });
    await cp(kept, path);
    expect({ code, isMade: existsSync(dirname(newSystem().logDir)) }).toEqual({ code: 1, isMade: false });
    expect(err).toContain(says);
  });

  test('brings a system back in another place', async () => {
    const verified = await adminCommand(newSystem(), 'restore', backup, '--verify');
    const restored = await adminCommand(newSystem(), 'restore', backup);
    expect([verified.code, verified.err.split('\n').at(-2), restored.code, restored.err]).toEqual([
      0,
      'The backup is intact.',
      0,
      expect.stringContaining('kr admin search reindex'),
    ]);
    const again = await adminCommand(newSystem(), 'restore', backup);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('There is existing data')]);
    const status = await adminCommand(newSystem(), 'migrate', 'status', '--json');
    const services: { pending: string[]; newer: string[] }[] = JSON.parse(status.out).services;
    expect([status.code, services.flatMap(({ pending, newer }) => [...pending, ...newer])]).toEqual([0, []]);

    system = await startSystem({ ownPostgres: true, dataDir: dirname(newSystem().logDir) });
    author = insistentClient(httpClient(system.baseUrl, token));
    // Refused while events are on their way for longer than a comparison waits.
    const drift = await until(async () => {
      const said = await adminCommand(system, 'search', 'drift', '--json');
      return said.out === '' ? undefined : said;
    });
    const audit = await adminCommand(system, 'files', 'verify', '--now', '--json');
    expect([drift.code, drift.out, audit.code, JSON.parse(audit.out).damaged]).toEqual([
      0,
      expect.stringMatching(/"missing": 0,.*"unreadable": 2,/s),
      0,
      0,
    ]);
  });

  test('has everything that was answered before the backup began, by the same token', async () => {
    expect(await documentsOf(before)).toEqual(documents);
    for (const { resources } of before.packages) {
      const { bytes } = await author.call('GET', `/records/${resources[0]?.id}/files/gauges.csv/content`);
      expect(bytes.equals(FILE)).toBe(true);
    }
  });

  test('has each publication whole or not at all, and nothing under way', async () => {
    const visitor = insistentClient(httpClient(system.baseUrl));
    const states = new Set<string>();
    for (const { main, resources } of begun) {
      const targets = [`/packages/${main.id}`, ...resources.map(({ id }) => `/records/${id}`)];
      const answers = await Promise.all(targets.map((target) => visitor.call('GET', target)));
      states.add(answers.map(({ status }) => status).join(' '));
    }
    expect([...states].filter((state) => !['200 200 200', '404 404 404'].includes(state))).toEqual([]);
    expect(states).toContain('200 200 200');
  });

  test('opens what its access links opened, and takes what is new', async () => {
    const visitor = httpClient(system.baseUrl);
    const target = `/records/${opened.entity.id}/draft`;
    const withLink = await visitor.call('GET', `${target}?token=${opened.link.token}`);
    const without = await visitor.call('GET', target);
    expect([withLink.status, without.status]).toEqual([200, 401]);
    const draft = await author.sure<Entity>('GET', target);
    await upload(author, draft, 'new.bin', FILE);
    await publish(author, draft);
    expect((await visitor.call('GET', `/records/${opened.entity.id}`)).status).toBe(200);
  });
});

async function flip(file: string): Promise<void> {
  const bytes = await readFile(file);
  const at = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  // A new file: the object may be the very one of the store.
  await unlink(file);
  await writeFile(file, bytes);
}

async function rewrite(file: string, from: string, to: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(from, to));
}
