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
const WRITERS = 4;
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

async function published(title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', '/records', { json: document(title) });
  // Repeated after a kill it may find its own DOI.
  const reserved = await persistentClient(author).insist('POST', link(draft, 'reserve_doi'));
  if (reserved.status >= 300 && !reserved.text.includes('pid_exists')) throw new Error(reserved.text);
  return publish(author, draft);
}

async function renamed(record: Entity, title: string): Promise<Entity> {
  const draft = await author.sure<Entity>('POST', `/records/${record.id}/draft`);
  await author.sure('PUT', `/records/${record.id}/draft`, { json: document(title) });
  return publish(author, draft);
}

/** Milliseconds of each publication, and the records under their titles. */
async function publishMany(
  count: number,
  killAt: readonly number[] = [],
): Promise<{ records: Map<string, Entity>; durations: number[] }> {
  const records = new Map<string, Entity>();
  const durations: number[] = [];
  let next = 0;
  const write = async () => {
    while (next < count) {
      next += 1;
      const number = next;
      if (killAt.includes(number)) system.kill('records', 'SIGKILL');
      const started = performance.now();
      const record = await published(`River ${number}`);
      durations.push(performance.now() - started);
      // The registration of the first title may be under way.
      const title = number % 3 === 0 ? `Renamed ${number}` : `River ${number}`;
      records.set(title, number % 3 === 0 ? await renamed(record, title) : record);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return { records, durations };
}

const p95 = (durations: number[]) =>
  Math.round(durations.toSorted((one, other) => one - other)[Math.floor(durations.length * 0.95)] ?? 0);

test(
  `${COUNT} publications while DataCite fails and records is killed: every DOI is findable with its last title`,
  async () => {
    const quiet = await publishMany(scaled(5, 200));
    const random = seededRandom(seed);
    datacite.faults = () => oneOf(random, FAULTS);
    const { records, durations } = await publishMany(COUNT, [COUNT / 4, COUNT / 2, COUNT - 2]);

    const registered = (doi: string) => datacite.dois.get(doi);
    const missing = () =>
      [...records].filter(([title, { id, parent }]) =>
        [id, parent.id].some((one) => {
          const { state, attributes } = registered(`10.5072/${one}`) ?? {};
          return (
            state !== 'findable' || JSON.stringify(attributes?.['titles']) !== JSON.stringify([{ title }])
          );
        }),
      );
    await until(() => missing().length === 0, { timeoutMs: PATIENCE_MS });
    expect(records.size).toBe(COUNT);
    // Nothing is sent any more once DataCite has everything.
    const answered = new Map<string, number>();
    for (const { path, status } of datacite.calls)
      if (status === 200 || status === 201) answered.set(path, (answered.get(path) ?? 0) + 1);
    expect([...answered.values()].filter((count) => count > 8)).toEqual([]);
    const failed = datacite.calls.filter(({ status }) => typeof status !== 'number' || status >= 400).length;
    report(
      `publish p95 ${p95(quiet.durations)} ms while DataCite answers, ${p95(durations)} ms while it fails (${failed} of ${datacite.calls.length} calls) and records is killed`,
    );
  },
  PATIENCE_MS,
);
