import { setTimeout as sleep } from 'node:timers/promises';
import { type Principal, servicePrincipal } from '@kr/caller';
import { type Definitions, definitions } from '@kr/contracts';
import type { RunningStack } from '@kr/local-stack';
import { type Client, createClient } from '@kr/rpc';
import type { JsonClient } from '../json-client.ts';
import { quantile, type Round, runRound } from '../load.ts';
import { createDraft, publishRecord } from '../scenarios/deposit.ts';
import { copyRecords } from './copy-records.ts';
import { corpusWords } from './corpus-words.ts';

/** Requests of one kind over the corpus; latencies in milliseconds. */
export interface CorpusRound extends Pick<Round, 'requests' | 'failed' | 'p50' | 'p99'> {
  name: string;
}

export interface CorpusMeasurements {
  records: number;
  seed: number;
  rounds: CorpusRound[];
  reindex: { documents: number; seconds: number; beside: CorpusRound };
}

interface CorpusBench {
  stack: Pick<RunningStack, 'databaseUrls' | 'search'>;
  /** With a token, so that the gateway keeps no answers. */
  repository: JsonClient;
  records: number;
  seconds: number;
  say: (line: string) => void;
}

const SEED = 20_261_122;
const CHANGES = 60;
const COSTLY = 'five beginnings, three likenesses and twenty words';
const BESIDE_EVERY_MS = 50;
const LOOK_EVERY_MS = 250;

/** Searches over so many records, changes until they are found, and the index built anew beside searches. */
export async function measureCorpus(bench: CorpusBench): Promise<CorpusMeasurements> {
  const { repository, records, say } = bench;
  const words = corpusWords(SEED);
  const { id } = await publishRecord(repository, 'A record to copy');
  await askIndex(bench, untilFilled);
  say(`${records} records …`);
  const databaseUrl = bench.stack.databaseUrls.records;
  const titles = await copyRecords({ databaseUrl, templateId: id, count: records, words });
  say('building the index …');
  await askIndex(bench, reindex);

  const pairs = titles.map((title) => title.split(' ').slice(-2).join(' '));
  const searching = (q: string) => repository.drain('GET', `/api/records?q=${encodeURIComponent(q)}`);
  let next = 0;
  const twoWords = () => searching(pairs[(next++ * 7_919) % pairs.length] ?? '');
  const costly = [
    ...['gor', 'mir', 'nes', 'kan', 'del'].map((beginning) => `${beginning}*`),
    ...[words.commonest, words.text(1), words.text(1)].map((word) => `${word}~2`),
    words.text(20).replaceAll(' ', ' OR '),
  ].join(' OR ');
  const rounds = [
    await round(bench, 'two words', twoWords),
    await round(bench, 'the commonest word, with facets', () => searching(words.commonest)),
    await round(bench, 'everything, with facets', () => searching('')),
    await round(bench, COSTLY, () => searching(costly)),
    await changesUntilFound(bench),
  ];

  say('building the index beside searches …');
  const besides: number[] = [];
  let failed = 0;
  let isOver = false;
  const beside = (async () => {
    while (!isOver) {
      const begun = performance.now();
      await twoWords().then(
        () => besides.push(performance.now() - begun),
        () => {
          failed += 1;
        },
      );
      await sleep(BESIDE_EVERY_MS);
    }
  })();
  const built = await askIndex(bench, reindex);
  isOver = true;
  await beside;
  besides.sort((a, b) => a - b);
  const meanwhile = {
    name: 'two words',
    requests: besides.length,
    failed,
    p50: quantile(besides, 0.5),
    p99: quantile(besides, 0.99),
  };
  return { records, seed: SEED, rounds, reindex: { ...built, beside: meanwhile } };
}

async function round(
  { seconds, say }: CorpusBench,
  name: string,
  request: () => Promise<void>,
): Promise<CorpusRound> {
  say(`${name} …`);
  const load = { concurrency: 1, cpu: () => 0 };
  await runRound({ ...load, request, seconds: 1 });
  const { requests, failed, p50, p99 } = await runRound({ ...load, request, seconds });
  return { name, requests, failed, p50, p99 };
}

/** One publication after the other, each answered when it can be found. */
async function changesUntilFound({ repository, say }: CorpusBench): Promise<CorpusRound> {
  const name = 'publish, until it is found';
  say(`${name} …`);
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
  const { address, key } = stack.search;
  const client = createClient(definitions.search, { address, key, audience: 'search', caller: 'operator' });
  try {
    return await ask(client, servicePrincipal('bench'));
  } finally {
    client.close();
  }
}

const untilFilled: Ask<void> = async (client, operator) => {
  while (!(await client.describeIndex({}, operator)).isFilled) await sleep(LOOK_EVERY_MS);
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
