import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type Answer, type HttpClient, httpClient } from './story/http-client.ts';
import { adminCommand, type Said } from './story/operator-command.ts';
import { insistentClient } from './story/persistent-client.ts';
import { link } from './story/stories.ts';

/** Memory limit of a service's container, in the chart and in Compose. */
const MEMORY_LIMIT_BYTES = 640 * 1_048_576;
const COPIES = 4;
const SERVICES = ['gateway', 'records', 'packages', 'files', 'access-links', 'search'] as const;

const feature = (extra: object) => ({ locations: { features: [extra] } });
const times = <T>(count: number, item: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => item(n));

/** Metadata of the largest accepted size: 1 MB each, or less if another limit is lower. */
const LARGEST: Readonly<Record<string, () => Record<string, unknown>>> = {
  'a line of 120,000 positions': () =>
    feature({ geometry: { type: 'LineString', coordinates: times(120_000, (n) => [n % 90, n % 45]) } }),
  '330,000 empty objects': () => ({
    locations: { features: times(330, () => ({ identifiers: times(1_000, () => ({})) })) },
  }),
  '10,000 nested tags': () => descriptions('<b>'.repeat(2_000), 5),
  'ampersands, five times as long after cleaning': () => descriptions('&'.repeat(13_107), 15),
  '1,000 creators with 50 affiliations each': () => ({
    creators: times(1_000, (n) => ({
      person_or_org: { type: 'personal', family_name: `F${n}`, given_name: `G${n}` },
      affiliations: times(50, (m) => ({ name: `A${m}` })),
    })),
  }),
  '1,000 subjects of 900 characters': () => ({
    subjects: times(1_000, (n) => ({ subject: `${'word '.repeat(178)}${n}` })),
  }),
  '70,000 unknown fields': () => Object.fromEntries(times(70_000, (n) => [`f${n}`, n])),
  'the longest title': () => ({ title: 'long '.repeat(13_100) }),
  '150,000 different words': () =>
    descriptions(times(9_000, (n) => `w${n.toString(36)}x`).join(' '), 15, (n) => `v${n} `),
};

/** Longer than any list or body may be; refused. */
const TOO_LARGE: Readonly<Record<string, () => Record<string, unknown>>> = {
  'fifteen texts of nested tags': () => descriptions('<b>'.repeat(21_000), 15),
  'fifteen texts of ampersands': () => descriptions('&'.repeat(64_000), 15),
  'one list of 300,000 objects': () => feature({ identifiers: times(300_000, () => ({})) }),
  'a title of a megabyte': () => ({ title: 'long '.repeat(190_000) }),
};

function descriptions(text: string, count: number, prefix = (_n: number) => ''): Record<string, unknown> {
  return {
    additional_descriptions: times(count, (n) => ({
      description: prefix(n) + text,
      type: { id: 'abstract' },
    })),
  };
}

let folder: string;
let system: TestSystem;
let author: HttpClient;
let insistent: HttpClient;
let visitor: HttpClient;
let started: (number | undefined)[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-largest-'));
  system = await startSystem({ ownPostgres: true });
  connect();
});
afterAll(async () => {
  await system?.stop();
  await rm(folder, { recursive: true, force: true });
});

function connect(token = system.token): void {
  author = httpClient(system.baseUrl, token);
  insistent = insistentClient(author);
  visitor = httpClient(system.baseUrl);
  started = pids();
}

const pids = () => SERVICES.map((name) => system.pid(name));

/** The most memory that each service has had since it started, in bytes. */
async function peakMemory(): Promise<number[]> {
  return Promise.all(
    pids().map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
    }),
  );
}

/** No service has ended, and none has needed more memory than its container has. */
async function expectAllAlive(): Promise<void> {
  expect(pids()).toEqual(started);
  const peaks = await peakMemory();
  const tooLarge = SERVICES.filter((_, n) => (peaks[n] ?? 0) > MEMORY_LIMIT_BYTES);
  expect({ tooLarge, peaks: tooLarge.length > 0 ? peaks : [] }).toEqual({ tooLarge: [], peaks: [] });
}

/** Each request is served, refused as invalid or as retryable; anything else is a defect. */
function expectAnswered(answers: readonly Answer<unknown>[]): void {
  const odd = answers.filter(({ status }) => status >= 500 && status !== 503);
  expect(odd.map(({ status, text }) => `${status} ${text.slice(0, 200)}`)).toEqual([]);
}

/** The failure shows the output of the command. */
function expectSucceeded({ code, err }: Said): void {
  expect({ code, reason: code === 0 ? '' : err }).toEqual({ code: 0, reason: '' });
}

function withMetadata(document: object, more: Record<string, unknown>): object {
  const { metadata, ...rest } = document as { metadata: object };
  return { ...rest, metadata: { ...metadata, ...more } };
}

describe('the largest inputs, many at once', () => {
  test.each(Object.entries(LARGEST))('%s', async (name, more) => {
    const metadata = more();
    const answers = await Promise.all(
      times(COPIES, (n) => {
        const [kind, document] = n % 3 === 2 ? ['packages', packageDocument] : ['records', recordDocument];
        return author.call<Entity>('POST', `/${kind}`, {
          json: withMetadata((document as typeof recordDocument)(`${name} ${n}`), metadata),
          headers: n % 2 === 0 ? { 'idempotency-key': `${name} ${n}` } : {},
        });
      }),
    );
    expectAnswered(answers);
    expect(answers.filter(({ status }) => status >= 400 && status !== 503).map(({ text }) => text)).toEqual(
      [],
    );
    const drafts = answers.filter(({ status }) => status === 201).map(({ body }) => body);
    expect(drafts.length).toBeGreaterThan(0);
    // The first hundred problems, and how many there are.
    expect(drafts.filter(({ errors = [] }) => errors.length > 101)).toEqual([]);
    const actions = ['GET', 'PUT', 'validate', 'publish'] as const;
    for (const action of actions) {
      expectAnswered(
        await Promise.all(
          drafts.map((draft) => {
            const self = link(draft, 'self');
            if (action === 'GET') return author.call('GET', self);
            if (action === 'PUT') {
              const json = withMetadata(recordDocument(`${name} again`), metadata);
              return author.call('PUT', self, { json });
            }
            const target = action === 'publish' ? link(draft, 'publish') : `${self}/actions/validate`;
            return author.call('POST', target);
          }),
        ),
      );
    }
    await expectAllAlive();
  });

  test.each(Object.entries(TOO_LARGE))('%s is refused', async (name, more) => {
    const json = withMetadata(recordDocument(name), more());
    const answers = await Promise.all(times(COPIES, () => author.call('POST', '/records', { json })));
    expectAnswered(answers);
    expect(answers.filter(({ status }) => ![400, 503].includes(status))).toEqual([]);
    await expectAllAlive();
  });

  test('as much metadata of files as a record takes, listed by many', async () => {
    const draft = await insistent.sure<Entity>('POST', '/records', {
      json: recordDocument('Files', { withFiles: true }),
    });
    for (let n = 0; n < 20; n += 1) {
      const json = times(50, (m) => ({ key: `f${n}-${m}`, metadata: { text: 'x'.repeat(20_000) } }));
      expectAnswered([await author.call('POST', link(draft, 'files'), { json })]);
    }
    const answers = await Promise.all(
      times(24, () => author.call<FilesListing>('GET', link(draft, 'files'))),
    );
    expectAnswered(answers);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    await expectAllAlive();
  });

  test('a resource list as long as a body', async () => {
    const main = await insistent.sure<Entity>('POST', '/packages', { json: packageDocument('Many') });
    const records = times(40_000, (n) => ({ id: `abcde-${String(n).padStart(5, '0')}` }));
    const bodies = [
      { target: link(main, 'context_associate'), json: { records } },
      { target: link(main, 'resources'), json: { resources: records } },
    ];
    for (const { target, json } of bodies) {
      const answers = await Promise.all(times(4, () => author.call('POST', target, { json })));
      expectAnswered(answers);
      expect(answers.filter(({ status }) => ![400, 503].includes(status))).toEqual([]);
    }
    await expectAllAlive();
  });
});

describe('with those stored', () => {
  test('listings and searches of the largest size are answered or refused', async () => {
    const targets = [
      '/user/records?size=1000',
      '/user/records?size=10',
      '/user/packages?size=1000',
      '/records?size=1000',
      '/records?size=10',
      '/packages?size=100',
      '/records?q=abc*z%20def*z%20ghi*z&size=10',
      '/records?q=w10x&size=10',
    ];
    for (const target of targets) {
      expectAnswered(
        await Promise.all(times(8, (n) => (n % 2 ? author : visitor).call<Listing>('GET', target))),
      );
    }
    await expectAllAlive();
  });

  test('the index is built and has no drift', async () => {
    const reindexed = await adminCommand(system, 'search', 'reindex');
    expectSucceeded(reindexed);
    const drift = await adminCommand(system, 'search', 'drift', '--json');
    expectSucceeded(drift);
    await expectAllAlive();
  });

  test('a backup is made, restored elsewhere, and indexed there', async () => {
    const backup = join(folder, 'backup');
    expectSucceeded(await adminCommand(system, 'backup', backup, '--with-secrets'));
    await expectAllAlive();
    const owned = async () => (await insistent.sure<Listing>('GET', '/user/records?size=1')).hits.total;
    const before = await owned();
    expect(before).toBeGreaterThan(COPIES);
    const { token } = system;
    await system.stop();

    const dataDir = join(folder, 'restored');
    const restored = await adminCommand({ logDir: join(dataDir, 'logs') }, 'restore', backup);
    expectSucceeded(restored);
    system = await startSystem({ ownPostgres: true, dataDir });
    connect(token);
    const reindexed = await adminCommand(system, 'search', 'reindex');
    expectSucceeded(reindexed);
    expect(await owned()).toBe(before);
    await expectAllAlive();
  });
});
