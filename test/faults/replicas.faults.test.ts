import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type PartName, SERVICES, type ServiceName } from '@kr/local-stack';
import { oneOf, seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import { Pool } from 'pg';
import type { Entity } from '../e2e/story/answers.ts';
import { recordDocument } from '../e2e/story/documents.ts';
import { httpClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, upload } from '../e2e/story/stories.ts';
import { checkHistory } from '../history/check-history.ts';
import { openRecorder } from '../history/history.ts';
import { type Databases, databasesOf } from './kill/databases-at-rest.ts';
import { md5Of } from './kill/package-with-files.ts';
import { startPublishers } from './publishers.ts';
import { preferring, startReaders } from './readers.ts';
import { report } from './report.ts';
import { isFull, scaled, seed } from './scale.ts';
import { secondTries } from './second-try.ts';
import { numbered, toldBy } from './seen-by-clients.ts';

const DEATHS = scaled(6, 120);
const PUBLISHERS = scaled(2, 4);
const EDITORS = scaled(2, 4);
const RESOURCES = 3;
const TEST_MS = scaled(600_000, 3_600_000);

let system: TestSystem;
let databases: Databases;
beforeAll(async () => {
  system = await startSystem({ isReplicated: true });
  databases = databasesOf(system);
});
afterAll(async () => {
  await databases?.close();
  await system?.stop();
});

test(
  'one process after the other is killed or replaced, and no write fails twice or is lost',
  async () => {
    const random = seededRandom(seed);
    const client = secondTries(system.baseUrls, system.token);
    const recorder = openRecorder();
    const publishers = startPublishers(client.http, { count: PUBLISHERS, resources: RESOURCES, recorder });
    await publishers.ready;
    const readers = system.baseUrls.map((baseUrl, gateway) =>
      startReaders({
        baseUrl,
        count: 2,
        recorder,
        firstClient: 100 * (1 + gateway),
        random,
        next: () => preferring(random, publishers),
      }),
    );
    const writers = Array.from({ length: EDITORS }, (_, number) => startWriter(client.http, number));

    try {
      for (let death = 0; death < DEATHS; death += 1) {
        await struckDown(VICTIMS[death % VICTIMS.length] ?? 'gateway', oneOf(random, ['SIGKILL', 'SIGTERM']));
        // A client that repeats once may meet one death, not two.
        await until(() => client.underWay === 0, { what: 'the repeated requests' });
      }
    } finally {
      await Promise.all([...writers, ...readers, publishers].map((working) => working.stop()));
    }
    const kept = writers.flatMap((writer) => writer.kept);
    report(
      `${DEATHS} deaths: ${publishers.published.length} packages published, ${kept.length} writes kept, ` +
        `${client.repeated} requests repeated, ${readers.reduce((sum, { pairs }) => sum + pairs, 0)} pairs read`,
    );

    await databases.atRest();
    expect({
      failed: client.failed,
      unforeseen: [publishers, ...readers, ...writers].flatMap(({ unforeseen }) => unforeseen),
      lost: (await Promise.all(kept.map((isKept) => isKept()))).filter((lost) => lost !== ''),
      violations: checkHistory(recorder.events),
      offences: await databases.offences(),
      published: publishers.published.length >= PUBLISHERS,
    }).toEqual({ failed: [], unforeseen: [], lost: [], violations: [], offences: [], published: true });
  },
  TEST_MS,
);

const replicaOf = (name: ServiceName): PartName => `${name}-replica`;

/** One process of each service, then the other one of each. */
const VICTIMS: PartName[] = [
  ...SERVICES.map((name, index) => (index % 2 === 0 ? name : replicaOf(name))),
  ...SERVICES.map((name, index) => (index % 2 === 0 ? replicaOf(name) : name)),
];

/** Ends one process; the supervisor starts another in its place. */
async function struckDown(victim: PartName, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const isBack = () => system.progress.filter((line) => line.endsWith('is back')).length;
  const before = isBack();
  system.kill(victim, signal);
  await until(() => isBack() > before, { what: `${victim} after ${signal}`, timeoutMs: 120_000 });
}

/** Edits a draft again and again and gives it files. */
function startWriter(http: ReturnType<typeof secondTries>['http'], number: number) {
  let isStopped = false;
  const kept: (() => Promise<string>)[] = [];
  const unforeseen: string[] = [];
  const write = async (): Promise<void> => {
    const draft = await http.sure<Entity>('POST', '/records', { json: document(number, 0) });
    let edits = 0;
    for (; !isStopped; edits += 1) {
      await http.sure('PUT', link(draft, 'self'), { json: document(number, edits + 1) });
      if (edits % 10 === 0) kept.push(await file());
    }
    kept.push(async () => {
      const found = toldBy(await http.sure<Entity>('GET', link(draft, 'self')));
      return found.values[0] === edits ? '' : `edit ${edits} of ${draft.id}, which has ${found.values}`;
    });
  };
  const file = async (): Promise<() => Promise<string>> => {
    const bytes = randomBytes(50_000);
    const draft = await http.sure<Entity>('POST', '/records', { json: document(number, 0) });
    const entry = await upload(http, draft, 'data.bin', bytes);
    return async () => {
      const found = await http.call('GET', link(entry, 'content'));
      return md5Of(found.bytes) === md5Of(bytes) ? '' : `the file of ${draft.id}: ${found.status}`;
    };
  };
  const writing = write().catch((thrown: unknown) => void unforeseen.push(String(thrown)));
  return {
    /** Each returns the lost acknowledged changes; nothing, if all is well. */
    kept,
    unforeseen,
    stop: async () => {
      isStopped = true;
      await writing;
    },
  };
}

function document(writer: number, edit: number) {
  const metadata = numbered({ publication: 0, edits: [edit] });
  return recordDocument(`Edited by ${writer}`, { metadata, withFiles: true });
}

const EMITTERS: ServiceName[] = isFull ? ['records', 'packages', 'files', 'access-links'] : ['records'];
const SIGNALS: NodeJS.Signals[] = ['SIGKILL', 'SIGSTOP'];

test.each(EMITTERS.flatMap((service) => SIGNALS.map((signal) => ({ service, signal }))))(
  'the process that sends the events of $service gets $signal, and another sends them',
  async ({ service, signal }) => {
    const pool = new Pool({ connectionString: system.databaseUrls[service], max: 1 });
    try {
      const leader = async (): Promise<number | undefined> => {
        const { rows } = await pool.query<{ name: string }>(
          `select application_name as name from pg_locks join pg_stat_activity using (pid)
           where locktype = 'advisory' and granted and datname = current_database()
             and application_name like 'relay %'`,
        );
        return Number(rows[0]?.name.split(' ').at(-1)) || undefined;
      };
      const former = await until(leader, { what: 'a leader' });
      const part = ([service, `${service}-replica`] as const).find((name) => system.pid(name) === former);
      if (part === undefined) throw new Error(`${former} leads, which is no process of ${service}`);
      const began = performance.now();
      system.kill(part, signal);
      await until(async () => ![undefined, former].includes(await leader()), { what: 'another leader' });
      report(`${part}, ${signal}: another sends after ${Math.round(performance.now() - began)} ms`);

      const author = insistentClient(httpClient(system.baseUrl, system.token));
      await author.sure('POST', '/records', { json: recordDocument('After a leader') });
      const unsent = 'select from outbox where published_at is null';
      await until(async () => (await pool.query(unsent)).rowCount === 0, { what: 'the events to be sent' });
      if (signal === 'SIGSTOP') system.kill(part, 'SIGCONT');
    } finally {
      await pool.end();
    }
  },
  TEST_MS,
);
