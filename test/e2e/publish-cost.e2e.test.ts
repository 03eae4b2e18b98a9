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

/** Whoever takes part in a publication. */
const EDGES = [
  'gateway to packages',
  'gateway to records',
  'packages to files',
  'packages to records',
  'records to files',
  'records to packages',
  'files to packages',
] as const;
/** What runs on timers, what relays and consumers do afterwards, and settings, which are not counted each time. */
const BESIDE =
  /outbox where published_at|update outbox|package_version|lease_until <|sealed_at <|updated_at <|set local/;

/** Nobody looks for old publications, reads stored bytes or makes connections anew meanwhile. */
const QUIET = { PUBLISH_SCAN_MS: '60000', AUDIT_EVERY_MS: '0' };

let postgres: CountingPostgres;
let system: TestSystem;
const counters = new Map<string, CallCounter>();
const given = process.env['TEST_DATABASE_URL'];

beforeAll(async () => {
  postgres = await startCountingPostgres();
  process.env['TEST_DATABASE_URL'] = postgres.url;
  system = await startSystem({ proxied: EDGES, environment: QUIET });
  for (const edge of EDGES) {
    const counter = new CallCounter();
    counters.set(edge, counter);
    // A cut whose moment never comes sees every byte.
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

/** Resolves when nothing is left to do of what was asked before. */
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

/** What publishing a package of that many resources costs until all have applied it. */
async function costOf(resources: number) {
  const author = httpClient(system.baseUrl, system.token);
  const { main } = await packageOfResources(author, `Package of ${resources}`, resources);
  // What the consumers of events ask for comes in their own time; those of search come last.
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

test('a publish costs the same calls, transactions and statements whatever the number of resources', async () => {
  // The first of all also pays for connections.
  await costOf(1);
  const [one, ten, hundred] = [await costOf(1), await costOf(10), await costOf(100)];
  expect(hundred).toEqual(ten);
  // A lone resource is read by a statement of another text, which need not ask how many are enough for one vote.
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
