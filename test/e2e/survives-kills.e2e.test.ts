import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, FileEntry, FilesListing, Listing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { type HttpClient, oneTryClient } from './story/http-client.ts';
import { insistentClient, type PersistentClient, persistentClient } from './story/persistent-client.ts';
import { link, type PackageOfResources, packageOfResources } from './story/stories.ts';
import { watchPublications } from './story/watch-publications.ts';

const FILES = 5;
const FILE_BYTES = 1_500_000;

let system: TestSystem;
let author: HttpClient;
let anonymous: HttpClient;
beforeAll(async () => {
  // The lease of a dead holder expires sooner than by default.
  system = await startSystem({ settings: { publishLeaseMs: 3_000 } });
  // The parts that a round has killed find each other again in their own time.
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
  anonymous = insistentClient(oneTryClient(system.baseUrl));
});
afterAll(() => system?.stop());

const entitiesOf = ({ main, resources }: PackageOfResources) => [
  { target: `/packages/${main.id}`, document: packageDocument('Changed afterwards') },
  ...resources.map(({ id }) => ({
    target: `/records/${id}`,
    document: recordDocument('Changed afterwards'),
  })),
];

/** Uploads files one after the other into one draft, with any number of retries. */
async function uploadAll(patient: PersistentClient, draft: Entity, contents: readonly Buffer[]) {
  const acknowledged = new Map<string, string | undefined>();
  for (const [index, bytes] of contents.entries()) {
    const key = `part-${index}.bin`;
    // A repeated start answers 400, that the file is there; then the answer to the first one was lost.
    await patient.insist('POST', link(draft, 'files'), { json: [{ key }] });
    const file = `${link(draft, 'files')}/${key}`;
    const put = await patient.insist('PUT', `${file}/content`, { bytes });
    const commit = await patient.insist<FileEntry>('POST', `${file}/commit`);
    if (put.status === 200 && commit.status === 200) acknowledged.set(key, commit.body.checksum);
  }
  return acknowledged;
}

/** Whether all of a package is published or all of it is draft; undefined while unknown. */
async function stateOf(one: PackageOfResources): Promise<'published' | 'draft' | undefined> {
  const answers = await Promise.all(entitiesOf(one).map(({ target }) => anonymous.call('GET', target)));
  if (answers.every(({ status }) => status === 200)) return 'published';
  return answers.every(({ status }) => status === 404) ? 'draft' : undefined;
}

const PARTS = ['gateway', 'records', 'packages', 'files', 'access-links', 'search', 'nats'] as const;
const GROUPS: { who: string; victims: readonly (typeof PARTS)[number][] }[] = [
  ...PARTS.map((part) => ({ who: part, victims: [part] })),
  { who: 'packages and records', victims: ['packages', 'records'] },
  { who: 'all at once', victims: PARTS },
];
const ROUNDS = GROUPS.flatMap((group) => [10, 50].map((afterMs) => ({ ...group, afterMs })));

describe('kill -9 during an upload and three publications', () => {
  test.each(ROUNDS)(
    'of $who, $afterMs ms in: nothing acknowledged is lost, nothing is half, no lock stays',
    async ({ who, victims, afterMs }) => {
      const title = `Story of ${who} ${afterMs}`;
      const packages = await Promise.all(
        [1, 2, 3].map((number) => packageOfResources(author, `${title}-${number}`, 3)),
      );
      const withFiles = await author.sure<Entity>('POST', '/records', {
        json: recordDocument(title, { withFiles: true }),
      });
      const contents = Array.from({ length: FILES }, () => randomBytes(FILE_BYTES));
      const pids = new Map(victims.map((victim) => [victim, system.pid(victim)]));
      const patient = persistentClient(author);
      const watch = watchPublications(anonymous, packages);

      const uploading = uploadAll(patient, withFiles, contents);
      const publishing = packages.map(({ main }) =>
        author.call<Entity>('POST', link(main, 'publish')).then(
          ({ status, text }) => ({ status, text }),
          () => ({ status: 0, text: 'no answer' }),
        ),
      );
      await sleep(afterMs);
      for (const victim of victims) system.kill(victim, 'SIGKILL');
      const answers = await Promise.all(publishing);
      await until(
        () => victims.every((victim) => ![undefined, pids.get(victim)].includes(system.pid(victim))),
        { what: 'the restart' },
      );

      // Acknowledged writes exist; others exist completely or not at all.
      const settled = () =>
        Promise.all(packages.map((one) => until(() => stateOf(one), { what: 'one state' })));
      const states = await settled();
      expect({
        takenBack: answers.filter(({ status }, index) => status === 202 && states[index] !== 'published'),
        unforeseen: answers.filter(({ status }) => ![0, 202, 409, 503].includes(status)),
      }).toEqual({ takenBack: [], unforeseen: [] });

      // No hand is needed to go on.
      const again = await Promise.all(
        packages.map(async ({ main }) => (await patient.insist('POST', link(main, 'publish'))).status),
      );
      const after = await settled();
      const { rounds, offences } = await watch.stop();
      expect({ again, after, watched: rounds > 0, offences }).toEqual({
        again: [202, 202, 202],
        after: ['published', 'published', 'published'],
        watched: true,
        offences: [],
      });

      const acknowledged = await uploading;
      const published = await patient.insist<Entity>('POST', link(withFiles, 'publish'));
      const listing = await anonymous.sure<FilesListing>('GET', link(published.body, 'files'));
      const stored = await Promise.all(
        listing.entries.map(async (entry) => (await anonymous.call('GET', link(entry, 'content'))).bytes),
      );
      expect({
        status: published.status,
        acknowledged: [...acknowledged.values()],
        bytes: stored.map((bytes, index) => contents[index]?.equals(bytes)),
        broken: patient.broken,
      }).toEqual({
        status: 202,
        acknowledged: contents.map((bytes) => `md5:${createHash('md5').update(bytes).digest('hex')}`),
        bytes: contents.map(() => true),
        broken: [],
      });

      // Every entity may be edited and left again: no lock is on any.
      const edits = await Promise.all(
        packages.flatMap(entitiesOf).map(async ({ target, document }) => {
          const statuses = [
            await patient.insist('POST', `${target}/draft`),
            await patient.insist('PUT', `${target}/draft`, { json: document }),
            await patient.insist('DELETE', `${target}/draft`),
          ];
          return statuses.map(({ status }) => status);
        }),
      );
      expect(edits).toEqual(packages.flatMap(entitiesOf).map(() => [201, 200, 204]));

      await until(
        async () => {
          const { hits } = await anonymous.sure<Listing>('GET', `/search?size=100&q="${title}"`);
          return hits.total === 3 * 4 + 1;
        },
        { what: 'search to find it all' },
      );
    },
  );
});
