import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { oneOf, seededRandom } from '@kr/testbed';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, oneTryClient } from '../e2e/story/http-client.ts';
import { insistentClient } from '../e2e/story/persistent-client.ts';
import { link, packageOfResources } from '../e2e/story/stories.ts';
import { checkHistory } from '../history/check-history.ts';
import { openRecorder } from '../history/history.ts';
import { report } from './report.ts';
import { scaled, seed } from './scale.ts';
import { numbered, toldBy, type Witness, witness } from './seen-by-clients.ts';

const ROUNDS = scaled(5, 200);
const WRITERS = 20;
const RESOURCES = 4;
/** How many edits each writer tries before the publication, and after it was answered. */
const BEFORE = 2;
const AFTER = 2;

let system: SharedSystem;
let author: HttpClient;
beforeAll(async () => {
  system = await sharedSystem();
  author = insistentClient(oneTryClient(system.baseUrl, system.token));
});
afterAll(() => system?.stop());

const random = seededRandom(seed);

interface Target {
  path: string;
  id: string;
  document: (metadata: Record<string, unknown>) => object;
}

function targetsOf(main: Entity, resources: readonly Entity[]): Target[] {
  const documentOf =
    (make: typeof recordDocument) =>
    (metadata: Record<string, unknown>): object =>
      make('Written by many', { metadata });
  return [
    { path: `/packages/${main.id}`, id: main.id, document: documentOf(packageDocument) },
    ...resources.map(({ id }) => ({ path: `/records/${id}`, id, document: documentOf(recordDocument) })),
  ];
}

let numbers = 0;
const newNumber = (): number => {
  numbers += 1;
  return numbers;
};

/** Reads the draft and puts it back with one edit more, unless somebody was quicker. */
async function edit(client: Witness, { id, path, document }: Target, publication: number): Promise<void> {
  const draft = await client.read(id, `${path}/draft`, 'draft');
  if (draft?.status === 404) {
    // It was published: the next edit begins with the published version.
    await author.call('POST', `${path}/draft`);
    return;
  }
  if (draft?.status !== 200) return;
  const { revision_id, ...entity } = draft.body as Entity;
  const value = newNumber();
  const edits = [...toldBy(entity).values, value];
  await client.append(id, value, `${path}/draft`, {
    json: document(numbered({ publication, edits })),
    headers: { 'If-Match': String(revision_id) },
  });
}

test(
  `${WRITERS} writers go on while a package is published, and no edit is lost`,
  async () => {
    const recorder = openRecorder();
    const unforeseen: string[] = [];
    const witnesses = Array.from({ length: WRITERS + 1 }, (_, client) =>
      witness(author, client, { recorder, unforeseen }),
    );
    const [reader, ...writers] = witnesses as [Witness, ...Witness[]];
    const publications = new Map<number, number>();

    for (let round = 0; round < ROUNDS; round += 1) {
      const { main, resources } = await packageOfResources(author, 'Written by many', RESOURCES);
      const targets = targetsOf(main, resources);
      const publication = newNumber();
      for (const { path, document } of targets) {
        await author.sure('PUT', `${path}/draft`, { json: document(numbered({ publication, edits: [] })) });
      }

      let isAnswered = false;
      const writing = writers.map(async (writer) => {
        for (let count = 0; count < BEFORE || !isAnswered; count += 1) {
          await edit(writer, oneOf(random, targets), publication);
        }
        for (let count = 0; count < AFTER; count += 1)
          await edit(writer, oneOf(random, targets), publication);
      });
      await sleep(200 * random());
      const ids = targets.map(({ id }) => id);
      const answer = await reader.publish(publication, ids, new URL(link(main, 'publish')).pathname.slice(4));
      isAnswered = true;
      await Promise.all(writing);
      publications.set(answer?.status ?? 0, (publications.get(answer?.status ?? 0) ?? 0) + 1);
      for (const { id, path } of targets) {
        await reader.read(id, path, 'published');
        await reader.read(id, `${path}/draft`, 'draft');
        await reader.read(id, path, 'published');
      }
    }

    const edits = Map.groupBy(outcomesOfEdits(recorder.events), (outcome) => outcome);
    const counts = Object.fromEntries([...edits].map(([outcome, all]) => [outcome, all.length]));
    report(
      `${ROUNDS} rounds: publications ${JSON.stringify([...publications])}, edits ${JSON.stringify(counts)}`,
    );
    expect({
      seed,
      violations: checkHistory(recorder.events),
      unforeseen,
      hadPublications: (publications.get(202) ?? 0) > 0,
      hadEdits: (counts['ok'] ?? 0) > ROUNDS * RESOURCES && (counts['fail'] ?? 0) > 0,
    }).toEqual({ seed, violations: [], unforeseen: [], hadPublications: true, hadEdits: true });
  },
  scaled(300_000, 3_600_000),
);

function outcomesOfEdits(events: ReturnType<typeof openRecorder>['events']): string[] {
  const editing = new Set<number>();
  return events.flatMap((event) => {
    if (event.type === 'invoke') {
      if (event.call.do === 'append') editing.add(event.client);
      return [];
    }
    return editing.delete(event.client) ? [event.type] : [];
  });
}
