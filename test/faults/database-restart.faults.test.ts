import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient, persistentClient } from '../e2e/story/persistent-client.ts';
import { link } from '../e2e/story/stories.ts';
import { type Databases, databasesOf } from './kill/databases-at-rest.ts';
import { lostFiles, type PackageWithFiles, packageWithFiles, sightOf } from './kill/package-with-files.ts';
import { scaled, seed } from './scale.ts';

const PUBLISHES = scaled(20, 200);
const RESTARTS = scaled(2, 20);
const AUTHORS = 4;
const LONGEST_PAUSE_MS = 200;

let system: TestSystem;
let author: HttpClient;
let stranger: HttpClient;
let databases: Databases;
beforeAll(async () => {
  system = await startSystem({ ownPostgres: true, settings: { publishLeaseMs: 1_500 } });
  author = oneTryClient(system.baseUrl, system.token);
  stranger = insistentClient(oneTryClient(system.baseUrl));
  databases = databasesOf(system);
});
afterAll(async () => {
  await databases?.close();
  await system?.stop();
});

/** Ends the database server without a checkpoint, as a crash would, and waits until it serves again. */
async function crash(): Promise<void> {
  const pid = system.pid('postgres');
  system.kill('postgres', 'SIGQUIT');
  await until(() => ![undefined, pid].includes(system.pid('postgres')), { what: 'Postgres' });
  const answers = async () => (await databases.pool('packages').query('select 1')).rowCount === 1;
  await until(answers, { what: 'an answer of Postgres' });
}

test(
  `no acknowledged publication is lost in ${RESTARTS} crashes of the database (seed ${seed})`,
  async () => {
    const packages: PackageWithFiles[] = [];
    for (let number = 1; number <= PUBLISHES; number += 1) {
      packages.push(await packageWithFiles(author, `Before crash ${number}`, 2, { isSound: true }));
    }
    const choose = seededRandom(seed);
    const waiting = packages.values();
    const acknowledged: PackageWithFiles[] = [];
    const { insist, broken } = persistentClient(author);
    let begun = 0;
    const publishAll = async () => {
      for (const one of waiting) {
        begun += 1;
        const publish = () => insist('POST', link(one.main, 'publish'));
        // A broken connection has no answer; the author retries.
        const { status } = await publish().catch(publish);
        if (status === 202) acknowledged.push(one);
      }
    };
    const crashAll = async () => {
      for (let crashes = 0; crashes < RESTARTS; crashes += 1) {
        const due = (crashes * PUBLISHES) / RESTARTS;
        await until(() => begun > due, { timeoutMs: 240_000, what: `publication ${due}` });
        await sleep(choose() * LONGEST_PAUSE_MS);
        await crash();
      }
    };
    await Promise.all([crashAll(), ...Array.from({ length: AUTHORS }, publishAll)]);

    await databases.atRest();
    const sights = await Promise.all(packages.map((one) => sightOf(stranger, one)));
    const lost = await Promise.all(packages.map((one) => lostFiles(stranger, one)));
    expect({
      acknowledged: acknowledged.length,
      sights: sights.filter((sight) => sight !== 'published'),
      lost: lost.flat(),
      broken,
      offences: await databases.offences(),
    }).toEqual({ acknowledged: PUBLISHES, sights: [], lost: [], broken: [], offences: [] });
  },
  scaled(300_000, 1_800_000),
);
