import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import { CallCounter } from './cost/call-counter.ts';
import {
  type CountingPostgres,
  type StatementCounts,
  startCountingPostgres,
} from './cost/counting-postgres.ts';
import { httpClient } from './story/http-client.ts';
import { packageOfResources, publish } from './story/stories.ts';

/** The participants of a publication. */
const EDGES = [
  'gateway to packages',
  'gateway to records',
  'packages to files',
  'packages to records',
  'records to files',
  'records to packages',
  'files to packages',
] as const;
/** Statements of timers, relays, consumers and settings, which are not counted each time. */
const BESIDE =
  /outbox where published_at|update outbox|package_version|lease_until <|sealed_at <|updated_at <|set local/;

/** No process queries old publications, verifies stored bytes or opens connections meanwhile. */
const QUIET = { settings: { publishScanMs: 60_000 }, environment: { FIXITY_CHECK_INTERVAL_MS: '0' } };

let postgres: CountingPostgres;
let system: TestSystem;
const counters = new Map<string, CallCounter>();
const given = process.env['TEST_DATABASE_URL'];

beforeAll(async () => {
  postgres = await startCountingPostgres();
  process.env['TEST_DATABASE_URL'] = postgres.url;
  system = await startSystem({ proxied: EDGES, ...QUIET });
  for (const edge of EDGES) {
    const counter = new CallCounter();
    counters.set(edge, counter);
    // A cut that never triggers sees every byte.
    const when = (bytes: Buffer) => {
      counter.take(bytes);
      return false;
    };
    system.proxy(edge).cutNext({ direction: 'to server', afterBytes: 0, when });
  }
});
afterAll(async () => {
  await system?.stop();
  await postgres?.stop();
  if (given === undefined) delete process.env['TEST_DATABASE_URL'];
  else process.env['TEST_DATABASE_URL'] = given;
});

const databaseOf = (service: 'packages' | 'records' | 'files') =>
  new URL(system.databaseUrls[service]).pathname.slice(1);

async function statementCounts(): Promise<StatementCounts> {
  const counts = await postgres.counts([databaseOf('packages'), databaseOf('records'), databaseOf('files')]);
  return new Map([...counts].filter(([text]) => !BESIDE.test(text)));
}

const callCounts = () => new Map([...counters].map(([edge, { calls }]) => [edge, calls] as const));

function growth(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) {
  const grown = [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, count]) => count !== 0).sort());
}

/** Resolves when all earlier requests are completely finished. */
async function isQuiet(): Promise<void> {
  let last = '';
  const isSame = async () => {
    const before = last;
    last = JSON.stringify([...(await statementCounts())]);
    return last === before;
  };
  // On a busy machine what is still to be done may get no turn for a while.
  await until(isSame, { everyMs: 500 });
}

/** The cost of publishing a package of this many resources until all participants have applied it. */
async function costOf(resources: number) {
  const author = httpClient(system.baseUrl, system.token);
  const { main } = await packageOfResources(author, `Package of ${resources}`, resources);
  // Queries of event consumers are asynchronous; those of search are last.
  for (const part of ['nats', 'search'] as const) system.kill(part, 'SIGSTOP');
  await isQuiet();
  const before = { statements: await statementCounts(), calls: callCounts() };
  await publish(author, main);
  await until(async () => isDone(main.id));
  const cost = {
    calls: growth(before.calls, callCounts()),
    statements: growth(before.statements, await statementCounts()),
  };
  for (const part of ['nats', 'search'] as const) system.kill(part, 'SIGCONT');
  return cost;
}

async function isDone(packageId: string): Promise<boolean> {
  const url = postgres.url.replace(/\/postgres$/, `/${databaseOf('packages')}`);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('select state from publication where entity_id = $1', [packageId]);
  await client.end();
  return rows[0]?.state === 'DONE';
}

const sum = (counts: Record<string, number>) =>
  Object.values(counts).reduce((total, count) => total + count, 0);

test('a publication costs the same calls, transactions and statements for any number of resources', async () => {
  // The first of all also pays for connections.
  await costOf(1);
  const [one, ten, hundred] = [await costOf(1), await costOf(10), await costOf(100)];
  expect(hundred).toEqual(ten);
  // A single resource is read by a different statement, without the limit of one vote.
  const inNumbers = ({ calls, statements }: typeof one) => [calls, Object.values(statements).sort()];
  expect(inNumbers(ten)).toEqual(inNumbers(one));

  const commits = Object.entries(one.statements).filter(([text]) => text.endsWith(': COMMIT'));
  expect({ calls: sum(one.calls), transactions: sum(Object.fromEntries(commits)) }).toEqual({
    calls: 5,
    transactions: 5,
  });
  // Of these, BEGIN and COMMIT are two for each transaction.
  expect(sum(one.statements)).toBeLessThanOrEqual(33);
});
