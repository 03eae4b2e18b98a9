import { type RunningStack, SERVICES } from '@kr/local-stack';
import { cpuMicroseconds, processTree } from '../cpu-time.ts';
import { type JsonClient, jsonClient } from '../json-client.ts';
import { median, type Round, runRound } from '../load.ts';
import { untilAtRest } from '../paired-rounds.ts';
import { createPackage, type EntityAnswer, publishFile } from '../scenarios/deposit.ts';

/** Processor time of a page divided by that of the JSON of the same content must not be above this. */
export const MAX_RATIO = 3;

/** A page and the documents of the API that have the same content. */
interface Pair {
  name: string;
  page: string;
  json: readonly string[];
}

/** The rounds of one pair, the page and the JSON in turn. */
export interface PageCost {
  name: string;
  page: Round[];
  json: Round[];
}

const CONCURRENCY = 8;
const RESOURCES = 10;

/** @param stack serves pages */
export async function measurePages(
  stack: RunningStack,
  {
    repository,
    rounds,
    seconds,
    say,
  }: { repository: JsonClient; rounds: number; seconds: number; say: (line: string) => void },
): Promise<PageCost[]> {
  const pids = () =>
    [...SERVICES, 'web' as const, 'postgres' as const, 'nats' as const].flatMap((part) => {
      const pid = stack.pid(part);
      return pid === undefined ? [] : processTree(pid);
    });
  const browser = jsonClient(stack.baseUrl, undefined, { accept: 'text/html' });
  const program = jsonClient(stack.baseUrl);
  const costs: PageCost[] = [];
  for (const { name, page, json } of await pairs(repository)) {
    say(`${name} …`);
    const cost: PageCost = { name, page: [], json: [] };
    // The first pair warms both sides up.
    for (let round = 0; round <= rounds; round += 1) {
      for (const [side, client, paths] of [
        ['json', program, json],
        ['page', browser, [page]],
      ] as const) {
        await untilAtRest(pids());
        const ran = await runRound({
          async request() {
            for (const path of paths) await client.drain('GET', path);
          },
          concurrency: CONCURRENCY,
          seconds,
          cpu: () => cpuMicroseconds(pids()),
        });
        if (round > 0) cost[side].push(ran);
      }
    }
    say(`  page ÷ JSON: ${ratioOf(cost).toFixed(2)}`);
    costs.push(cost);
  }
  await Promise.all([browser.close(), program.close()]);
  return costs;
}

/** Median over the pairs of rounds. */
export function ratioOf({ page, json }: PageCost): number {
  const cpu = (round: Round | undefined) => round?.cpuMicrosecondsPerRequest ?? Number.NaN;
  return median(page.map((round, index) => cpu(round) / cpu(json[index])));
}

export function isTooExpensive(cost: PageCost): boolean {
  return ratioOf(cost) > MAX_RATIO;
}

/** A query keeps an answer out of the caches of the gateway. */
async function pairs(repository: JsonClient): Promise<Pair[]> {
  const content = await publishFile(repository, 'day,level\n2026-05-01,120\n');
  const record = content.replace(/\/files\/.*$/, '').replace('/api', '');
  const { id } = await createPackage(repository, RESOURCES);
  const published = (await repository.send(
    'POST',
    `/api/packages/${id}/draft/actions/publish?wait_for_index=true`,
  )) as EntityAnswer;
  const main = `/packages/${published.id}`;
  const search = '/search?q=resource';
  const resources = `/api${main}/resources?size=50`;
  return [
    { name: 'landing page of a record, cached', page: record, json: [`/api${record}`] },
    { name: `landing page of a package of ${RESOURCES}, cached`, page: main, json: [`/api${main}`] },
    { name: 'landing page of a record', page: `${record}?page=1`, json: [`/api${record}?page=1`] },
    {
      name: `landing page of a package of ${RESOURCES}`,
      page: `${main}?page=1`,
      json: [`/api${main}?page=1`, resources],
    },
    { name: 'search results', page: search, json: [`/api${search}&size=20`] },
    { name: 'start page', page: '/', json: ['/api/search?size=5&sort=newest'] },
  ];
}
