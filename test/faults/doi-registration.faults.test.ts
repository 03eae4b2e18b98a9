import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DataciteServer, oneOf, seededRandom, startDatacite, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import type { HttpClient } from '../e2e/story/http-client.ts';
import { httpClient } from '../e2e/story/http-client.ts';
import { insistentClient, persistentClient } from '../e2e/story/persistent-client.ts';
import { link, publish } from '../e2e/story/stories.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';

const ACCOUNT = { repository: 'RIVERS.REPOSITORY', password: 'in the test only', prefix: '10.5072' };
const COUNT = scaled(60, 1_000);
const ROUNDS = scaled(2, 8);
/** Publications of a round while DataCite answers, and of one while it fails. */
const OF_A_ROUND = scaled(10, 100);
const WRITERS = 4;
/** Publishing while DataCite fails may take this many times as long as while it answers (p95). */
const MAX_RATIO = scaled(2, 1.5);
const PATIENCE_MS = scaled(300_000, 1_800_000);
/** Half of the calls fail. */
const FAULTS = ['busy', 'limited', 'cut', 'lost', 'none', 'none', 'none', 'none'] as const;

let datacite: DataciteServer;
let system: TestSystem;
let author: HttpClient;
beforeAll(async () => {
  datacite = await startDatacite({ ...ACCOUNT, domains: ['127.0.0.1'] });
  system = await startSystem({
    environment: {
      DATACITE_URL: datacite.url,
      DATACITE_REPOSITORY: ACCOUNT.repository,
      DATACITE_PASSWORD: ACCOUNT.password,
    },
    settings: { doiScanMs: 50, doiRetryMs: 50 },
  });
  author = insistentClient(httpClient(system.baseUrl, system.token));
});
afterAll(async () => {
  await system?.stop();
  await datacite?.stop();
});

const document = (title: string) => recordDocument(title, { metadata: { publisher: 'River Observatory' } });

/** A draft with a DOI. */
async function reserved(title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', '/records', { json: document(title) });
  // Repeated after a kill it may find its own DOI.
  const { status, text } = await persistentClient(author).insist('POST', link(draft, 'reserve_doi'));
  if (status >= 300 && !text.includes('pid_exists')) throw new Error(text);
  return draft;
}

async function renamed(record: Entity, title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', `/records/${record.id}/draft`);
  await author.sure('PUT', `/records/${record.id}/draft`, { json: document(title) });
  return publish(author, draft);
}

interface Publications {
  /** By their titles. */
  records: Map<string, Entity>;
  /** Milliseconds of each publication. */
  durations: number[];
}

let publications = 0;

async function publishMany(count: number, killAt: readonly number[] = []): Promise<Publications> {
  const records = new Map<string, Entity>();
  const durations: number[] = [];
  let next = 0;
  const write = async () => {
    while (next < count) {
      next += 1;
      publications += 1;
      const number = publications;
      if (killAt.includes(next)) system.kill('records', 'SIGKILL');
      const draft = await reserved(`River ${number}`);
      const started = performance.now();
      const record = await publish(author, draft);
      durations.push(performance.now() - started);
      // The registration of the first title may be under way.
      const title = number % 3 === 0 ? `Renamed ${number}` : `River ${number}`;
      records.set(title, number % 3 === 0 ? await renamed(record, title) : record);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return { records, durations };
}

/** Until DataCite has the DOIs of each record and of all its versions with its title. */
async function untilFindable({ records }: Publications): Promise<void> {
  const isFindable = (doi: string, title: string): boolean => {
    const { state, attributes } = datacite.dois.get(`10.5072/${doi}`) ?? {};
    return state === 'findable' && JSON.stringify(attributes?.['titles']) === JSON.stringify([{ title }]);
  };
  const missing = [...records].flatMap(([title, { id, parent }]) => [
    { title, doi: id },
    { title, doi: parent.id },
  ]);
  await until(() => missing.every(({ doi, title }) => isFindable(doi, title)), { timeoutMs: PATIENCE_MS });
}

const p95 = (durations: number[]) =>
  durations.toSorted((one, other) => one - other)[Math.floor(durations.length * 0.95)] ?? 0;

test(
  `${COUNT} publications while DataCite fails and records is killed: every DOI is findable with its last title, and publishing is as fast as before`,
  async () => {
    const random = seededRandom(seed);
    const quiet: number[] = [];
    const faulty: number[] = [];
    await publishMany(OF_A_ROUND);
    // In turn, so that the load of the machine is the same for both.
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [durations, faults] of [
        [quiet, () => 'none' as const],
        [faulty, () => oneOf(random, FAULTS)],
      ] as const) {
        datacite.faults = faults;
        const round = await publishMany(OF_A_ROUND);
        durations.push(...round.durations);
        await untilFindable(round);
        expect(round.records.size).toBe(OF_A_ROUND);
      }

    const rest = COUNT - ROUNDS * OF_A_ROUND;
    datacite.faults = () => oneOf(random, FAULTS);
    const killed = await publishMany(rest, [Math.floor(rest / 4), Math.floor(rest / 2), rest - 2]);
    await untilFindable(killed);
    expect(killed.records.size).toBe(rest);
    // Nothing is sent any more once DataCite has everything.
    const answered = new Map<string, number>();
    for (const { path, status } of datacite.calls)
      if (status === 200 || status === 201) answered.set(path, (answered.get(path) ?? 0) + 1);
    expect([...answered.values()].filter((count) => count > 8)).toEqual([]);
    const failed = datacite.calls.filter(({ status }) => typeof status !== 'number' || status >= 400).length;
    const ratio = p95(faulty) / p95(quiet);
    report(
      `publish p95 ${p95(quiet).toFixed()} ms while DataCite answers, ${p95(faulty).toFixed()} ms while it fails: ratio ${ratio.toFixed(2)}; ${failed} of ${datacite.calls.length} calls failed`,
    );
    expect(ratio).toBeLessThan(MAX_RATIO);
  },
  PATIENCE_MS,
);
