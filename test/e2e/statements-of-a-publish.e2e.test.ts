import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import pg from 'pg';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { COUNTED, type StatementCounter, statementCounter } from './story/statement-counter.ts';
import { packageOfResources, publish } from './story/stories.ts';

/** The decision is delivered after the answer, so counting ends with the answer. */
const TOLD_LATE = 'publish.decide-files.before:pause:1500,publish.decide-records.before:pause:1500';
/** Other chores of the services fall into some of them, never into all, however slow the machine is. */
const MOST_TRIES = 20;

let system: TestSystem;
let author: HttpClient;
let statements: StatementCounter;
let packages: pg.Client;

beforeAll(async () => {
  system = await startSystem({ ...COUNTED, environment: { FAILPOINT: TOLD_LATE } });
  statements = statementCounter(system);
  author = httpClient(system.baseUrl, system.token);
  packages = new pg.Client(system.databaseUrls.packages);
  await packages.connect();
});
afterAll(async () => {
  await packages?.end();
  await system?.stop();
});

/** The fewest of several tries; tries end when the expected number is reached. */
async function untilAnswered(resources: number, expected: number): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < MOST_TRIES && fewest > expected; tries += 1) {
    const { main } = await packageOfResources(author, `Package of ${resources}`, resources);
    // A personal listing waits for the events of recent writes.
    await author.sure('GET', '/user/search?size=1');
    fewest = Math.min(fewest, await statements.during(() => publish(author, main)));
    // Late deliveries are not counted for another request.
    await until(async () => !(await isBeingToldOf(main.id)));
  }
  return fewest;
}

async function isBeingToldOf(packageId: string): Promise<boolean> {
  const { rows } = await packages.query(`select from publication where entity_id = $1 and state <> 'DONE'`, [
    packageId,
  ]);
  return rows.length > 0;
}

// The token, what is published, the publication with the lock, pending restrictions, the draft once more, and the published package: one each.
// Three for the seal, four for the vote, four for the commit; these three are transactions, with BEGIN and COMMIT.
test('a publish takes 17 statements in 3 transactions up to the answer, however many resources there are', async () => {
  const expected = 17 + 6;
  expect([await untilAnswered(1, expected), await untilAnswered(10, expected)]).toEqual([expected, expected]);
}, 300_000);
