import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { run } from '../../clients/kr/src/run.ts';
import { createTerminal } from '../../clients/kr/src/terminal/terminal.ts';
import { holdDecisions } from '../faults/held-decisions.ts';
import type { Entity } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, packageOfResources, publish } from './story/stories.ts';

let system: TestSystem;
let author: HttpClient;
/** A published package, a refused one, and a resource whose decision is delayed. */
let published: Entity;
let refused: Entity;
let held: Entity;
let letGo: () => Promise<void>;
let publishing: Promise<unknown>;
beforeAll(async () => {
  // Slow calls are retried within the one publication that the lists show.
  system = await startSystem({
    settings: { publishDeadlineMs: 600_000, publishReachMs: 60_000 },
  });
  author = httpClient(system.baseUrl, system.token);
  published = await publish(author, (await packageOfResources(author, 'Published', 2)).main);
  const { main, resources } = await packageOfResources(author, 'Refused', 2);
  refused = main;
  const json = recordDocument('ab', { metadata: { creators: [] } });
  await author.sure('PUT', link(resources[0] as Entity, 'self'), { json });
  await author.call('POST', link(refused, 'publish'));
  held = await author.sure<Entity>('POST', '/records', { json: recordDocument('Held') });
  ({ letGo } = await holdDecisions(system.databaseUrls.packages));
  publishing = author.call('POST', link(held, 'publish'), { timeoutMs: 120_000 });
});
afterAll(async () => {
  await letGo?.();
  await publishing;
  await system?.stop();
});

interface Listed {
  publications: { id: string; entity_id: string; state: string; age_ms: number }[];
  has_more: boolean;
}

/** The output of the command for an operator of the machine with only the data folder. */
const kr = (...args: string[]) => admin('publications', ...args);

async function admin(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const into = (name: keyof typeof said) => ({
    write: (text: string) => {
      said[name] += text;
    },
  });
  const dataDir = dirname(system.logDir);
  const code = await run(['admin', ...args, '--data-dir', dataDir], {
    terminal: createTerminal(into('out'), into('err')),
    env: {},
    cwd: dataDir,
  });
  return { code, ...said };
}
const listed = async (...args: string[]) => JSON.parse((await kr('list', ...args, '--json')).out) as Listed;
const statesOf = ({ publications }: Listed) =>
  Object.fromEntries(publications.map(({ entity_id, state }) => [entity_id, state]));

async function idOf(entityId: string): Promise<string> {
  const { publications } = await listed();
  const found = publications.find(({ entity_id }) => entity_id === entityId);
  if (found === undefined) throw new Error(`no publication of ${entityId}`);
  return found.id;
}

describe('kr admin publications list', () => {
  test('has every publication, the youngest first, as JSON and for people', async () => {
    const all = await until(async () => {
      const found = await listed();
      const { [published.id]: done, [refused.id]: aborted, [held.id]: preparing } = statesOf(found);
      return done === 'DONE' && aborted === 'ABORT_DONE' && preparing !== undefined ? found : undefined;
    });
    expect([all.publications.map(({ entity_id }) => entity_id), all.has_more]).toEqual([
      [held.id, refused.id, published.id],
      false,
    ]);
    const { out } = await kr('list');
    const [headings = '', ...rows] = out.trimEnd().split('\n');
    expect(headings.split(/ {2,}/)).toEqual([
      'publication',
      'of',
      'entity',
      'state',
      'age',
      'epoch',
      'resources',
      'participants',
      'by',
    ]);
    expect(rows.map((row) => row.split(/ {2,}/).toSpliced(4, 2))).toEqual([
      [await idOf(held.id), 'record', held.id, 'PREPARING', '1', 'files, records', 'user:1'],
      [
        await idOf(refused.id),
        'package',
        refused.id,
        'ABORT_DONE',
        '2',
        'files applied, records applied',
        'user:1',
      ],
      [
        await idOf(published.id),
        'package',
        published.id,
        'DONE',
        '2',
        'files applied, records applied',
        'user:1',
      ],
    ]);
  });

  test('finds what is open, in a state, or old', async () => {
    expect({
      open: statesOf(await listed('--open')),
      done: statesOf(await listed('--state', 'DONE')),
      settled: statesOf(await listed('--state', 'DONE', 'ABORT_DONE')),
      old: statesOf(await listed('--older-than', '1h')),
      limited: await listed('--limit', '1').then(({ publications, has_more }) => [
        publications.length,
        has_more,
      ]),
      none: await kr('list', '--open', '--older-than', '1h'),
    }).toEqual({
      open: { [held.id]: 'PREPARING' },
      done: { [published.id]: 'DONE' },
      settled: { [published.id]: 'DONE', [refused.id]: 'ABORT_DONE' },
      old: {},
      limited: [1, true],
      none: { code: 0, out: '', err: 'No publication matches.\n' },
    });
  });

  test('explains invalid input', async () => {
    const wrong = async (...args: string[]) => {
      const { code, err } = await kr('list', ...args);
      return [code, err.split('\n')[0]];
    };
    expect([await wrong('--state', 'STUCK'), await wrong('--older-than', 'long')]).toEqual([
      [2, expect.stringContaining('Allowed choices are PREPARING, COMMITTED, ABORTED, DONE, ABORT_DONE')],
      [2, expect.stringContaining('Expected a number with a unit, such as 30s, 5m, 2h or 1d.')],
    ]);
  });

  test('states that locks need no release', async () => {
    expect((await kr('list', '--help')).out).toMatch(/no command to release locks, because none is needed/);
  });
});

describe('kr admin publications show', () => {
  test('prints a refusal with every problem and its resource', async () => {
    const id = await idOf(refused.id);
    const { out } = await kr('show', id);
    const shown = JSON.parse((await kr('show', id, '--json')).out);
    const [wrong] = shown.resource_ids;
    expect(shown).toMatchObject({
      id,
      subject: 'package',
      entity_id: refused.id,
      package_parent_id: refused.parent.id,
      state: 'ABORT_DONE',
      requested_by: 'user:1',
      published_ids: [],
      snapshot: { package: { id: refused.id }, resources: shown.resource_ids },
      refusal: {
        kind: 'not_publishable',
        code: null,
        issues: expect.arrayContaining([
          { record: wrong, field: 'metadata.title', messages: ['Shorter than minimum length 3.'] },
          { record: wrong, field: 'metadata.creators', messages: ['Missing data for required field.'] },
        ]),
      },
    });
    expect(out).toContain('state         ABORT_DONE: not published; nothing is locked\n');
    expect(out).toContain('refused       not_publishable: A validation error occurred.\n');
    expect(out).toContain(`   ${wrong} metadata.title Shorter than minimum length 3.\n`);
  });

  test('prints the holder of an undecided one, and its deadline', async () => {
    const shown = JSON.parse((await kr('show', await idOf(held.id), '--json')).out);
    expect(shown).toMatchObject({ state: 'PREPARING', decided_at: null, finished_at: null, refusal: null });
    expect(Date.parse(shown.deadline) - Date.parse(shown.created_at)).toBe(600_000);
    expect(Date.parse(shown.lease_until)).toBeGreaterThan(Date.parse(shown.created_at));
  });

  test('reports an unknown publication', async () => {
    const { code, err } = await kr('show', '0199aa00-0000-7000-8000-000000000000');
    expect([code, err]).toEqual([1, 'There is no publication 0199aa00-0000-7000-8000-000000000000.\n']);
  });
});

test('kr admin status has a line for each part of the system', async () => {
  const status = async () => {
    const { code, out, err } = await admin('status', '--json');
    const { parts } = JSON.parse(out) as { parts: { name: string; state: string; is_good: boolean }[] };
    return { code, err, parts };
  };
  const { parts, code } = await until(async () => {
    const found = await status();
    return found.code === 0 ? found : undefined;
  });
  expect(code).toBe(0);
  expect(Object.fromEntries(parts.map(({ name, state }) => [name, state]))).toEqual({
    gateway: 'available',
    migrations: 'up to date',
    publications: expect.stringMatching(/^1 open, the oldest .+ old$/),
    files: expect.stringMatching(/^\d+ objects, .+, 0 damaged$/),
    search: expect.stringMatching(/^postgres, \d+ documents, \d+ events pending, 0 forms differ$/),
    'dead letters': '0',
    DOIs: 'registration is switched off',
  });
  const { out } = await admin('status');
  expect(out.split('\n')[0]).toMatch(/^✓ {2}gateway +available$/);
});
