import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '@kr/local-stack/backends';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import { run } from '../../clients/kr/src/run.ts';
import { createTerminal } from '../../clients/kr/src/terminal/terminal.ts';
import type { Entity, FileEntry } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link, publish, upload } from './story/stories.ts';

const FILES = 20;
const FILE_BYTES = 100_000;
const DAY_MS = 86_400_000;

let system: TestSystem;
let author: HttpClient;
let published: Entity;
let metricsPort: number;
const contents = new Map<string, Buffer>();

beforeAll(async () => {
  system = await startSystem({
    environment: {
      FIXITY_CHECK_BYTES_PER_SECOND: '100000',
      MAX_BYTES_PER_USER: '50000000',
    },
    settings: { garbageGraceMs: 60_000 },
  });
  metricsPort = await freePort();
  await system.relaunch('files', METRICS());
  author = insistentClient(httpClient(system.baseUrl, system.token));
  const draft = await newDraft('Kept for long');
  for (let index = 0; index < FILES; index += 1) {
    const bytes = randomBytes(FILE_BYTES);
    await upload(author, draft, `${index}.bin`, bytes);
    contents.set(`${index}.bin`, bytes);
  }
  published = await publish(author, draft);
});
afterAll(() => system?.stop());

const METRICS = () => ({
  OTEL_METRICS_EXPORTER: 'prometheus',
  OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
  OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort),
  OTEL_TRACES_EXPORTER: 'none',
});

const newDraft = (title: string) =>
  author.sure<Entity>('POST', '/records', { json: recordDocument(title, { withFiles: true }) });

/** The output of the command for an operator of the machine. */
async function kr(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const output = { out: '', err: '' };
  const into = (name: keyof typeof output) => ({
    write: (text: string) => {
      output[name] += text;
    },
  });
  const cwd = dirname(system.logDir);
  const isHelp = args.includes('--help');
  const code = await run(['admin', ...args, ...(isHelp ? [] : ['--data-dir', cwd])], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd,
  });
  return { code, ...output };
}

/** Also while the service is being started again. */
const krJson = <Output>(...args: string[]): Promise<Output> =>
  until(async () => {
    const { code, out } = await kr(...args, '--json');
    return code === 0 ? (JSON.parse(out) as Output) : undefined;
  });

interface Audit {
  id: number;
  finished_at: string | null;
  objects: number;
  objects_left: number;
}
interface Report {
  objects: number;
  damaged: number;
  latest: Audit | null;
  finished: Audit | null;
  damaged_objects: { damage: string; files: { entity_id: string; key: string }[] }[];
}

async function sql<Row>(statement: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client(system.databaseUrls.files);
  await client.connect();
  try {
    return (await client.query(statement, values)).rows;
  } finally {
    await client.end();
  }
}

const pathOf = (id: string) => join(system.filesDir, 'objects', id.slice(0, 2), id.slice(2, 4), id);

async function objectOf(entity: Entity, key: string): Promise<string> {
  const [row] = await sql<{ id: string }>(
    'select object_id as id from entry where entity_id = $1 and key = $2',
    [entity.id, key],
  );
  return row?.id ?? '';
}

async function storedIds(): Promise<string[]> {
  const found = await readdir(join(system.filesDir, 'objects'), { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map(({ name }) => name);
}

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name}{`) || one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.replace(/\{.*\}/, '').split(' ')[1]);
}

async function everythingIsThere(): Promise<void> {
  for (const [key, bytes] of contents) {
    const read = await author.call('GET', `${link(published, 'self')}/files/${key}/content`);
    expect([key, read.status, Buffer.from(read.bytes).equals(bytes)]).toEqual([key, 200, true]);
  }
}

describe('kr admin files verify', () => {
  test('reports that no object was read yet, and the progress of a check', async () => {
    const before = await kr('files', 'verify');
    expect([before.code, before.out]).toEqual([0, expect.stringContaining('objects not read again yet')]);
    const now = await kr('files', 'verify', '--now');
    expect([now.code, now.err]).toEqual([0, '']);
    expect(now.out).toMatch(/^stored +20 objects, 2\.0 MB\n/);
    expect(now.out).toMatch(/\nlatest check +started .* finished .*: 20 objects, 2\.0 MB, 0 damaged\n/);
    expect((await kr('files', 'verify', '--help')).out).toContain('Exit code of --now: 0');
    expect([await metric('files_objects_corrupt'), await metric('files_objects_missing')]).toEqual([0, 0]);
    expect(await metric('files_fixity_check_age_seconds')).toBeGreaterThanOrEqual(0);
    expect(await metric('files_fixity_check_interval_seconds')).toBe(30 * 86_400);
  });

  test('fails when one byte is another, names the file, and passes when it is restored', async () => {
    const path = pathOf(await objectOf(published, '7.bin'));
    const bytes = await readFile(path);
    const wrong = Buffer.from(bytes);
    wrong[54_321] = (wrong[54_321] ?? 0) ^ 0x80;
    await writeFile(path, wrong);
    const { code, out, err } = await kr('files', 'verify', '--now');
    expect([code, err]).toEqual([1, '1 of 20 objects are damaged.\n']);
    expect(out).toContain(`corrupt ${await objectOf(published, '7.bin')} (100 kB)`);
    expect(out).toContain(`    ${published.id} 7.bin\n`);
    const report = await krJson<Report>('files', 'verify');
    expect(report.damaged_objects).toMatchObject([
      { damage: 'corrupt', files: [{ entity_id: published.id, key: '7.bin' }] },
    ]);
    await until(async () => (await metric('files_objects_corrupt')) === 1);
    await writeFile(path, bytes);
    expect((await kr('files', 'verify', '--now')).code).toBe(0);
  });

  test('reports unreadable objects, also as a metric', async () => {
    const path = pathOf(await objectOf(published, '8.bin'));
    await rename(path, `${path}.aside`);
    // A link to itself: the system refuses to open it.
    await symlink(path, path);
    expect((await kr('files', 'verify', '--now')).code).toBe(1);
    const report = await krJson<Report>('files', 'verify');
    expect(report.damaged_objects).toMatchObject([{ damage: 'unreadable', files: [{ key: '8.bin' }] }]);
    await until(async () => (await metric('files_objects_unreadable')) === 1);
    await rename(`${path}.aside`, path);
    expect((await kr('files', 'verify', '--now')).code).toBe(0);
    await until(async () => (await metric('files_objects_unreadable')) === 0);
  });

  test('goes on in the background where it was when the service was killed', async () => {
    expect((await kr('files', 'verify', '--start')).code).toBe(0);
    const started = await until(async () => {
      const { latest } = await krJson<Report>('files', 'verify');
      return latest !== null && latest.objects >= 5 ? latest : undefined;
    });
    expect([started.finished_at, started.objects < FILES]).toEqual([null, true]);
    const pid = system.pid('files');
    system.kill('files', 'SIGKILL');
    await until(() => ![undefined, pid].includes(system.pid('files')));
    const { latest } = await krJson<Report>('files', 'verify');
    expect([latest?.id, (latest?.objects ?? 0) >= started.objects]).toEqual([started.id, true]);
    const { finished } = await until(async () => {
      const report = await krJson<Report>('files', 'verify');
      return report.finished?.id === started.id ? report : undefined;
    });
    expect([finished?.objects, finished?.objects_left]).toEqual([FILES, 0]);
  });
});

interface Collected {
  applied: boolean;
  grace_ms: number;
  expired_uploads: { count: number; bytes: number };
  unreferenced_objects: { count: number; bytes: number };
  unreferenced_blobs: { count: number; bytes: number };
}

/** Makes unreferenced objects old enough for the garbage collection. */
const forgetFor3Days = () =>
  sql(`update object set unreferenced_at = now() - interval '3 days'
       where not exists (select from entry where object_id = object.id)`);

describe('kr admin files gc', () => {
  test('counts unreferenced bytes and removes them on request, but no recent ones', async () => {
    const [old, young] = [randomUUID(), randomUUID()];
    for (const id of [old, young]) {
      await mkdir(dirname(pathOf(id)), { recursive: true });
      await writeFile(pathOf(id), 'leftover');
    }
    const yesterday = new Date(Date.now() - DAY_MS);
    await utimes(pathOf(old), yesterday, yesterday);
    const draft = await newDraft('With a file for a while');
    const entry = await upload(author, draft, 'gone.bin', Buffer.from('for a while'));
    await author.sure('DELETE', link(entry, 'self'));
    await krJson<Collected>('files', 'gc');
    await forgetFor3Days();

    const before = (await storedIds()).sort();
    const counted = {
      grace_ms: 60_000,
      expired_uploads: { count: 0, bytes: 0 },
      unreferenced_objects: { count: 1, bytes: 11 },
      unreferenced_blobs: { count: 1, bytes: 8 },
    };
    expect(await krJson<Collected>('files', 'gc')).toEqual({ applied: false, ...counted });
    expect((await storedIds()).sort()).toEqual(before);
    const trial = await kr('files', 'gc');
    expect([trial.code, trial.err]).toEqual([
      0,
      'Nothing was removed; --apply does it. Nothing younger than 1m is touched.\n',
    ]);
    expect(await krJson<Collected>('files', 'gc', '--apply')).toEqual({ applied: true, ...counted });
    const after = await storedIds();
    expect([after.length, after.includes(old), after.includes(young)]).toEqual([
      before.length - 2,
      false,
      true,
    ]);
    await everythingIsThere();
    expect((await kr('files', 'gc', '--help')).out).toContain('24 hours');
  });

  test('is done by the service when it starts, which reports the amount as a metric', async () => {
    const id = randomUUID();
    await mkdir(dirname(pathOf(id)), { recursive: true });
    await writeFile(pathOf(id), 'leftover');
    const yesterday = new Date(Date.now() - DAY_MS);
    await utimes(pathOf(id), yesterday, yesterday);
    await system.relaunch('files', METRICS());
    await until(async () => !(await storedIds()).includes(id));
    // Objects of another test may be old enough by now.
    await until(async () => ((await metric('files_unreferenced_blobs')) ?? 0) >= 1);
    await everythingIsThere();
  });

  test('takes nothing that a published version has, when drafts that had it too are deleted', async () => {
    const draft = await newDraft('Published once');
    await upload(author, draft, 'kept.bin', Buffer.from('kept'));
    const first = await publish(author, draft);
    const next = await author.sure<Entity>('POST', link(first, 'versions'));
    await author.sure('POST', `/records/${next.id}/draft/actions/files-import`);
    await author.sure('POST', `/records/${first.id}/draft`);
    for (const { id } of [next, first]) await author.sure('DELETE', `/records/${id}/draft`);
    await until(async () => (await sql('select from entry where entity_id = $1', [next.id])).length === 0);
    await krJson<Collected>('files', 'gc', '--apply');
    await forgetFor3Days();
    await krJson<Collected>('files', 'gc', '--apply');
    expect(await storedIds()).toContain(await objectOf(first, 'kept.bin'));
    expect((await author.call('GET', `/records/${first.id}/files/kept.bin/content`)).text).toBe('kept');
  });

  test('is taken up again when it was killed half-way, while uploads go on', async () => {
    const draft = await newDraft('Written while something is removed');
    const entries: FileEntry[] = [];
    for (const key of ['a', 'b', 'c']) entries.push(await upload(author, draft, key, Buffer.from(key)));
    await system.relaunch('files', { ...METRICS(), FAILPOINT: 'files.gc.inside:kill' }, METRICS());
    for (const entry of entries) await author.sure('DELETE', link(entry, 'self'));
    await krJson<Collected>('files', 'gc');
    await forgetFor3Days();
    const before = await storedIds();
    const pid = system.pid('files');
    const uploading = (async () => {
      for (let index = 0; index < 5; index += 1) {
        const key = `${index}.bin`;
        await upload(author, draft, key, randomBytes(1_000));
      }
    })();
    expect((await kr('files', 'gc', '--apply')).code).toBe(1);
    await until(() => ![undefined, pid].includes(system.pid('files')));
    await uploading;
    // The rows are deleted; their bytes are unreferenced and old.
    const left = (await storedIds()).filter((id) => before.includes(id));
    const yesterday = new Date(Date.now() - DAY_MS);
    for (const id of left) await utimes(pathOf(id), yesterday, yesterday);
    const { unreferenced_blobs } = await krJson<Collected>('files', 'gc', '--apply');
    expect(unreferenced_blobs.count).toBeGreaterThanOrEqual(3);
    await everythingIsThere();
    expect((await kr('files', 'verify', '--now')).code).toBe(0);
  });
});

describe('kr admin quota', () => {
  interface Quota {
    user: string;
    user_id: string;
    used_bytes: number;
    reserved_bytes: number;
    limit_bytes: number;
    is_default: boolean;
  }

  test('shows the usage and limits of a user, and sets an individual limit', async () => {
    const before = await krJson<Quota>('quota', 'show', '1');
    expect(before).toMatchObject({
      user_id: '1',
      limit_bytes: 50_000_000,
      is_default: true,
    });
    expect(before.used_bytes).toBeGreaterThanOrEqual(FILES * FILE_BYTES);
    // The reservation of a killed upload expires later.
    const limit = before.used_bytes + before.reserved_bytes + 1_000;
    expect(await krJson<Quota>('quota', 'set', '1', String(limit))).toEqual({
      ...before,
      limit_bytes: limit,
      is_default: false,
    });

    const draft = await newDraft('Over the own limit');
    const { entries } = await author.sure<{ entries: FileEntry[] }>('POST', link(draft, 'files'), {
      json: [{ key: 'a.bin' }],
    });
    const content = link(entries[0] as FileEntry, 'content');
    const refused = await author.call<{ code: string; errors: unknown }>('PUT', content, {
      bytes: randomBytes(1_001),
    });
    expect([refused.status, refused.body.code, refused.body.errors]).toEqual([
      413,
      'user_quota_exceeded',
      [
        {
          field: 'size',
          messages: [
            expect.stringContaining(
              `The files of this user may have at most ${limit} bytes, of which 1000 are left.`,
            ),
          ],
        },
      ],
    ]);
    await author.sure('PUT', content, { bytes: randomBytes(1_000) });
    expect(await krJson<Quota>('quota', 'show', '1')).toMatchObject({
      used_bytes: before.used_bytes + 1_000,
    });
    expect(await krJson<Quota>('quota', 'set', '1', '1.5TB')).toMatchObject({ limit_bytes: 1.5e12 });
    expect((await kr('quota', 'set', '1', 'default')).out).toContain('50 MB (default)');
    expect(await krJson<Quota>('quota', 'show', before.user)).toEqual(
      await krJson<Quota>('quota', 'show', '1'),
    );
  });

  test('explains invalid input', async () => {
    const wrong = async (...args: string[]) => {
      const { code, err } = await kr('quota', ...args);
      return [code, err.split('\n')[0]];
    };
    expect([
      await wrong('set', '1', 'much'),
      await wrong('show', 'marie'),
      await wrong('set', '999', '1GB'),
    ]).toEqual([
      [2, expect.stringContaining('Expected a number of bytes, a size such as 500GB')],
      [1, 'There is no user "marie".'],
      [1, 'There is no user "999".'],
    ]);
  });
});
