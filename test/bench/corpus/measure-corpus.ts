import { setTimeout as sleep } from 'node:timers/promises';
import { type Principal, servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import type { RunningStack } from '@kr/local-stack';
import { type Client, createClient } from '@kr/rpc';
import type { JsonClient } from '../json-client.ts';
import { runRound } from '../load.ts';
import { createDraft, publishRecord } from '../scenarios/deposit.ts';
import { copyRecords } from './copy-records.ts';
import type { CorpusRound } from './corpus-round.ts';
import { type CorpusWords, corpusWords } from './corpus-words.ts';
import { beside } from './paced.ts';

export interface CorpusMeasurements {
  records: number;
  seed: number;
  /** That the index is kept in. */
  engine: string;
  rounds: CorpusRound[];
  builds: Build[];
  /** Skipped measurements, with the reason. */
  failures: { name: string; reason: string }[];
}

interface Build {
  /** Concurrent work. */
  name: string;
  documents: number;
  seconds: number;
}

interface CorpusBench {
  stack: Pick<RunningStack, 'databaseUrls' | 'admin'>;
  /** With a token, so that the gateway keeps no answers. */
  repository: JsonClient;
  records: number;
  seconds: number;
  say: (line: string) => void;
}

const SEED = 20_261_122;
const CHANGES = 60;
const BESIDE_EVERY_MS = 50;
const EVENT_EVERY_MS = 10;
const LOOK_EVERY_MS = 250;

/**
 * Searches over a number of records, changes until they are found, and the index rebuilt beside searches. The
 * error of a failed measurement is stored beside the results of the others.
 *
 * @throws Error when there is no index to measure
 */
export async function measureCorpus(bench: CorpusBench): Promise<CorpusMeasurements> {
  const { repository, records, say } = bench;
  const words = corpusWords(SEED);
  const { id } = await publishRecord(repository, 'A record to copy');
  const engine = await askIndex(bench, untilFilled);
  say(`${records} records …`);
  const databaseUrl = bench.stack.databaseUrls.records;
  const titles = await copyRecords({ databaseUrl, templateId: id, count: records, words });
  say('building the index …');
  const alone = await askIndex(bench, reindex);

  const measured: CorpusMeasurements = {
    records,
    seed: SEED,
    engine,
    rounds: [],
    builds: [{ name: 'alone', ...alone }],
    failures: [],
  };
  for (const [name, measure] of Object.entries(measurements(bench, titles, words))) {
    say(`${name} …`);
    try {
      const { rounds, builds = [] } = await measure(name);
      measured.rounds.push(...rounds);
      measured.builds.push(...builds);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      say(`  failed: ${reason}`);
      measured.failures.push({ name, reason });
    }
  }
  return measured;
}

type Measure = (name: string) => Promise<{ rounds: CorpusRound[]; builds?: Build[] }>;

function measurements(bench: CorpusBench, titles: string[], words: CorpusWords): Record<string, Measure> {
  const { repository } = bench;
  const pairs = titles.map((title) => title.split(' ').slice(-2).join(' '));
  const searching = (q: string) => repository.drain('GET', `/api/records?q=${encodeURIComponent(q)}`);
  let next = 0;
  const pair = () => pairs[(next++ * 7_919) % pairs.length] ?? '';
  const bothWords = () => searching(pair().replace(' ', ' AND '));
  const eitherWord = () => searching(pair());
  const costly = [
    ...['gor', 'mir', 'nes', 'kan', 'del'].map((beginning) => `${beginning}*`),
    ...[words.commonest, words.text(1), words.text(1)].map((word) => `${word}~2`),
    words.text(50).replaceAll(' ', ' OR '),
  ].join(' OR ');
  const only =
    (request: () => Promise<void>): Measure =>
    async (name) => ({ rounds: [await round(bench, name, request)] });
  return {
    'both of two words': only(bothWords),
    'either of two words': only(eitherWord),
    'the commonest word, with facets': only(() => searching(words.commonest)),
    'everything, with facets': only(() => searching('')),
    'five beginnings, three likenesses and fifty words': async (name) => {
      const { result, round: others } = await beside(
        'both of two words, beside those',
        { request: bothWords, everyMs: BESIDE_EVERY_MS },
        () => round(bench, name, () => searching(costly)),
      );
      return { rounds: [result, others] };
    },
    'publish, until it is found': async (name) => ({ rounds: [await changesUntilFound(bench, name)] }),
    'publish, until it is found, beside 100 events a second': async (name) => {
      const { result, round: events } = await beside(
        'drafts that are made meanwhile',
        {
          request: async () => void (await createDraft(repository, 'One of many')),
          everyMs: EVENT_EVERY_MS,
        },
        () => changesUntilFound(bench, name),
      );
      return { rounds: [result, events] };
    },
    'building the index beside searches': async () => {
      const { result, round: searches } = await beside(
        'either of two words, while the index is built',
        { request: eitherWord, everyMs: BESIDE_EVERY_MS },
        () => askIndex(bench, reindex),
      );
      return { rounds: [searches], builds: [{ name: 'beside searches', ...result }] };
    },
  };
}

async function round(
  { seconds }: CorpusBench,
  name: string,
  request: () => Promise<void>,
): Promise<CorpusRound> {
  const load = { concurrency: 1, cpu: () => 0 };
  await runRound({ ...load, request, seconds: 1 });
  const { requests, failed, p50, p99 } = await runRound({ ...load, request, seconds });
  return { name, requests, failed, p50, p99 };
}

/** One publication after the other, each answered when it can be found. */
async function changesUntilFound({ repository }: CorpusBench, name: string): Promise<CorpusRound> {
  const drafts: string[] = [];
  for (let count = 0; count < CHANGES; count += 1)
    drafts.push((await createDraft(repository, 'Soon to be found')).id);
  const publish = () =>
    repository.drain('POST', `/api/records/${drafts.pop()}/draft/actions/publish?wait_for_index=true`, '{}');
  const { requests, failed, p50, p99 } = await runRound({
    request: publish,
    concurrency: 1,
    seconds: 600,
    requests: CHANGES,
    cpu: () => 0,
  });
  return { name, requests, failed, p50, p99 };
}

type Ask<Answer> = (client: Client<Definitions['search']>, operator: Principal) => Promise<Answer>;

async function askIndex<Answer>({ stack }: CorpusBench, ask: Ask<Answer>): Promise<Answer> {
  const { address, key } = stack.admin.search;
  const client = createClient(definitions.search, { address, key, audience: 'search', caller: 'operator' });
  try {
    return await ask(client, servicePrincipal('bench'));
  } finally {
    client.close();
  }
}

/** @returns the name of the engine */
const untilFilled: Ask<string> = async (client, operator) => {
  for (;;) {
    const { isFilled, engine } = await client.describeIndex({}, operator);
    if (isFilled) return engine;
    await sleep(LOOK_EVERY_MS);
  }
};

const reindex: Ask<{ documents: number; seconds: number }> = async (client, operator) => {
  const begun = performance.now();
  await client.startReindex({}, operator);
  for (;;) {
    const { reindex: state } = await client.describeIndex({}, operator);
    const seconds = (performance.now() - begun) / 1_000;
    if (state?.endedAt) return { documents: Number(state.documents), seconds };
    await sleep(LOOK_EVERY_MS);
  }
};
