import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link } from '../e2e/story/stories.ts';
import { type Databases, databasesOf } from './kill/databases-at-rest.ts';
import { lostFiles, type PackageWithFiles, packageWithFiles, sightOf } from './kill/package-with-files.ts';
import { scaled } from './scale.ts';

let system: TestSystem;
let author: HttpClient;
let stranger: HttpClient;
let databases: Databases;
beforeAll(async () => {
  system = await startSystem({
    settings: { publishLeaseMs: 1_500, publishScanMs: 100, rpcDeadlineMs: 5_000 },
  });
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
  stranger = insistentClient(oneTryClient(system.baseUrl));
  databases = databasesOf(system);
  await system.startReplica('packages');
});
afterAll(async () => {
  await databases?.close();
  await system?.stop();
});

/** Where the owner is frozen, and the place that it passes when it has tried to go on. */
const MOMENTS = [
  { frozen: 'publish.prepare.after', tried: 'publish.commit.after' },
  { frozen: 'publish.commit.before', tried: 'publish.commit.after' },
  { frozen: 'publish.notify-records.before', tried: 'publish.notify-records.after' },
  { frozen: 'publish.finish.before', tried: 'publish.finish.after' },
];

test.each(MOMENTS)(
  'an owner frozen at $frozen finds everything decided when it wakes, and changes nothing',
  async ({ frozen, tried }) => {
    const one = await packageWithFiles(author, `Frozen at ${frozen}`, scaled(3, 30), { isSound: true });
    await system.relaunch('packages', { FAILPOINT: `${frozen}:pause:6000,${tried}:pause:1` });
    await isReached(one);
    const publishing = author.call('POST', link(one.main, 'publish'), { timeoutMs: 120_000 });
    await until(() => hasPassed(frozen), { what: frozen });
    system.kill('packages', 'SIGSTOP');
    const settled = await until(() => settledBy(one), { what: 'the replica to take over' });
    system.kill('packages', 'SIGCONT');

    await until(() => hasPassed(tried), { what: tried });
    const { status } = await publishing;
    await isReached(one);
    await databases.atRest();
    expect({
      answered: [202, 503].includes(status),
      settled: await settledBy(one),
      tookOver: settled.epoch > 1,
      sight: await sightOf(stranger, one),
      lost: await lostFiles(stranger, one),
      offences: await databases.offences(),
      repeated: (await author.call('POST', link(one.main, 'publish'))).status,
    }).toEqual({
      answered: true,
      settled,
      tookOver: true,
      sight: 'published',
      lost: [],
      offences: [],
      repeated: 202,
    });
  },
);

/** Waits until the gateway has found the restarted or resumed process. */
async function isReached({ main }: PackageWithFiles): Promise<void> {
  const answers = async () => (await author.call('GET', `/packages/${main.id}`)).status < 500;
  await until(answers, { what: 'the packages service' });
}

async function hasPassed(point: string): Promise<boolean> {
  const log = await readFile(join(system.logDir, 'packages.log'), 'utf8');
  const since = log.lastIndexOf('failpoints are armed');
  return log.indexOf(`"failpoint":"${point}"`, since) >= 0;
}

interface Row {
  id: string;
  state: string;
  epoch: number;
  decided_at: Date;
  finished_at: Date;
}

/** The publication of a package in its row, once it is done. */
async function settledBy({ main }: PackageWithFiles): Promise<Row | undefined> {
  const { rows } = await databases
    .pool('packages')
    .query<Row>(`select id, state, epoch, decided_at, finished_at from publication where entity_id = $1`, [
      main.id,
    ]);
  expect(rows.length).toBeLessThanOrEqual(1);
  return rows.find(({ state }) => state === 'DONE');
}
