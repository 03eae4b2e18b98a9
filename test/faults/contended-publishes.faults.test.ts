import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, Failed } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type Answer, type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { link, packageOfResources, publishedRecord } from '../e2e/story/stories.ts';
import { type PublicationLedger, publicationLedger } from './publication-ledger.ts';
import { scaled, seed } from './scale.ts';

const CLIENTS = 50;
const ROUNDS = scaled(10, 500);
/** How many rounds run at once. */
const ABREAST = 5;
const LONGEST_DELAY_MS = 25;
const ROUNDS_MS = scaled(300_000, 3_600_000);

/** All allowed answers to one of several concurrent publishes. */
const FITTING = new Set([202, 400, 404, 409]);

let system: SharedSystem;
let author: HttpClient;
let ledger: PublicationLedger;
beforeAll(async () => {
  system = await sharedSystem();
  author = httpClient(system.baseUrl, system.token);
  ledger = publicationLedger(system);
});
afterAll(async () => {
  await ledger?.close();
  await system?.stop();
});

const choose = seededRandom(seed);
const hesitate = () => sleep(choose() * LONGEST_DELAY_MS);
const listOf = (...entities: { id: string }[]) => entities.map(({ id }) => ({ id }));
const newPackage = (title: string) =>
  author.sure<Entity>('POST', '/packages', { json: packageDocument(title) });

/** Answers that are wrong in every situation, as texts. */
function unforeseen(answers: readonly Answer<unknown>[]): string[] {
  return answers.filter(({ status }) => !FITTING.has(status)).map(({ status, text }) => `${status} ${text}`);
}

/** Publishes until the answer is final; while another publication locks a draft, it retries. */
async function insist(draft: Entity): Promise<number> {
  const { status } = await author.call('POST', link(draft, 'publish'));
  return status === 409 ? sleep(100).then(() => insist(draft)) : status;
}

/** Runs rounds a few at a time, so that they are in each other's way too. */
async function rounds(play: (round: number) => Promise<void>): Promise<void> {
  for (let first = 0; first < ROUNDS; first += ABREAST) {
    const together = Math.min(ABREAST, ROUNDS - first);
    await Promise.all(Array.from({ length: together }, (_, index) => play(first + index)));
  }
}

describe('publishing one entity concurrently', () => {
  let clients: HttpClient[];
  beforeAll(async () => {
    clients = [];
    for (let number = 0; number < CLIENTS; number += 1) {
      clients.push(httpClient(system.baseUrl, (await system.createUser(system.user)).token));
    }
  });

  const draftOf = {
    packages: async () => packageOfResources(author, 'Wanted by many', 3),
    records: async () => {
      const main = await author.sure<Entity>('POST', '/records', { json: recordDocument('Wanted by many') });
      return { main, resources: [] };
    },
  };
  test.each(['packages', 'records'] as const)(
    `${CLIENTS} clients get one and the same answer: %s`,
    async (kind) => {
      const { main, resources } = await draftOf[kind]();
      const answers = await Promise.all(clients.map((client) => client.call('POST', link(main, 'publish'))));
      await ledger.quiet();
      const all = [main, ...resources];
      // The draft of a resource is in another service: a caller who passed the check too late opens an
      // aborted publication.
      const inVain = kind === 'records' ? ['ABORT_DONE'] : [];
      const publications = await ledger.opened(all.map(({ id }) => id));
      expect({
        statuses: new Set(answers.map(({ status, text }) => (status === 202 ? status : text))),
        bodies: new Set(answers.map(({ text }) => text)).size,
        publications: publications.filter(({ state }) => !inVain.includes(state)),
        versions: await Promise.all(all.map(({ id }) => ledger.versionsOf(id))),
        publishers: await Promise.all(all.map(({ id }) => ledger.publishersOf(id))),
        announcements: await Promise.all(all.map(({ id }) => ledger.announcementsOf(id))),
      }).toEqual({
        statuses: new Set([202]),
        bodies: 1,
        publications: [{ state: 'DONE', count: 1 }],
        versions: all.map(() => 1),
        publishers: all.map(() => 1),
        announcements: all.map(() => 1),
      });
    },
  );
});

describe(`packages that want the same (seed ${seed})`, () => {
  /** Takes the resource out of one package and into the other, and publishes that, as far as it is let. */
  async function move(resource: Entity, from: Entity, to: Entity): Promise<Answer<Failed>[]> {
    const records = listOf(resource);
    const steps = [
      ['context_dissociate', from, { records }],
      ['context_associate', to, { records }],
      ['resources', to, { resources: records }],
    ] as const;
    const answers: Answer<Failed>[] = [];
    for (const [name, main, json] of steps) {
      await hesitate();
      const answer = await author.call<Failed>('POST', link(main, name), { json });
      if (answer.status >= 300) answers.push(answer);
    }
    return answers;
  }

  test(
    `a draft goes with one of them, ${ROUNDS} times`,
    async () => {
      let shared: Entity[] = [];
      const holders = new Set<string>();
      const play = async (round: number): Promise<void> => {
        const [one, two] = [
          await packageOfResources(author, `First ${round}`, 1),
          await newPackage('Second'),
        ];
        const [resource] = one.resources as [Entity];
        // Contents of both, in opposite orders.
        await author.sure('POST', link(one.main, 'resources'), { json: { resources: listOf(...shared) } });
        await author.sure('POST', link(two, 'resources'), {
          json: { resources: listOf(...shared.toReversed()) },
        });
        const publishing = [one.main, two].map(async (main) => {
          await hesitate();
          return author.call<Failed>('POST', link(main, 'publish'));
        });
        const [moves, publications] = await Promise.all([
          move(resource, one.main, two),
          Promise.all(publishing),
        ]);
        expect({ round, unforeseen: unforeseen([...moves, ...publications]) }).toEqual({
          round,
          unforeseen: [],
        });

        // The others may continue, and then all is published.
        const later = [await insist(one.main), await insist(two)];
        await ledger.quiet();
        const published = await Promise.all(
          [one.main, two].map(({ id }) => author.sure<Entity>('GET', `/packages/${id}`)),
        );
        const held = published.filter(({ relationship }) =>
          relationship.resources?.some(({ id }) => id === resource.id),
        );
        const { status } = await author.call('GET', `/records/${resource.id}`);
        holders.add(held.map(({ id }) => (id === two.id ? 'second' : 'first')).join(' and ') || 'neither');
        expect({
          round,
          later,
          isPublished: status === 200,
          versions: await ledger.versionsOf(resource.id),
          publishers: await ledger.publishersOf(resource.id),
          announcements: await ledger.announcementsOf(resource.id),
        }).toEqual({
          round,
          later: [202, 202],
          isPublished: held.length > 0,
          versions: 1,
          publishers: held.length > 0 ? 1 : 0,
          announcements: held.length > 0 ? 1 : 0,
        });
        // An unclaimed one is free.
        if (held.length === 0) expect(await insist(resource)).toBe(202);
      };

      const related = await Promise.all([1, 2].map((number) => publishedRecord(author, `Shared ${number}`)));
      shared = related;
      await rounds(play);
      const after = await Promise.all(related.map(({ id }) => author.sure<Entity>('GET', `/records/${id}`)));
      const content = ({ revision_id, updated, metadata }: Entity) => ({ revision_id, updated, metadata });
      expect(after.map(content)).toEqual(related.map(content));
      // The race was run both ways.
      if (ROUNDS >= 100) expect(holders.size).toBeGreaterThan(1);
    },
    ROUNDS_MS,
  );
});

describe(`a resource published alone against its package (seed ${seed})`, () => {
  /** Edits until there is nothing to edit any more; answers with the last number that was acknowledged. */
  async function editUntilGone(resource: Entity, strange: string[]): Promise<number> {
    let last = 0;
    for (let number = 1; ; number += 1) {
      const json = recordDocument(`Edit ${number}`);
      const { status, text } = await author.call('PUT', link(resource, 'self'), { json });
      if (status === 200) last = number;
      else if (status === 404) return last;
      else if (status !== 409) strange.push(`${status} ${text}`);
    }
  }

  test(
    `one publishes it, with the last edit that was acknowledged, ${ROUNDS} times`,
    async () => {
      const winners = new Set<number>();
      await rounds(async (round) => {
        const { main, resources } = await packageOfResources(author, `Raced ${round}`, 2);
        const [resource] = resources as [Entity];
        const strange: string[] = [];
        const editing = editUntilGone(resource, strange);
        const contenders = [resource, main].map(async (draft) => {
          await hesitate();
          return author.call<Failed>('POST', link(draft, 'publish'));
        });
        const [alone, whole] = (await Promise.all(contenders)) as [Answer<Failed>, Answer<Failed>];
        const later = await insist(main);
        const last = await editing;
        await ledger.quiet();
        winners.add(alone.status);
        const published = await author.sure<Entity>('GET', `/records/${resource.id}`);
        const { relationship } = await author.sure<Entity>('GET', `/packages/${main.id}`);
        expect({
          round,
          strange: [...strange, ...unforeseen([alone, whole])],
          later,
          publishers: await ledger.publishersOf(resource.id),
          versions: await ledger.versionsOf(resource.id),
          announcements: await ledger.announcementsOf(resource.id),
          title: published.metadata['title'],
          held: relationship.resources,
        }).toEqual({
          round,
          strange: [],
          later: 202,
          publishers: 1,
          versions: 1,
          announcements: 1,
          title: last === 0 ? `Raced ${round}, part 1` : `Edit ${last}`,
          held: listOf(...resources),
        });
      });
      if (ROUNDS >= 100) expect(winners.size).toBeGreaterThan(1);
    },
    ROUNDS_MS,
  );
});
