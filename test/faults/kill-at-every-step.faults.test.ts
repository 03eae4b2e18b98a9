import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceName } from '@kr/local-stack';
import { seededRandom, until } from '@kr/testbed';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, FileEntry, FilesListing } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import { type HttpClient, httpClient } from '../e2e/story/http-client.ts';
import { persistentClient } from '../e2e/story/persistent-client.ts';
import { link, upload } from '../e2e/story/stories.ts';
import { watchPublications } from '../e2e/story/watch-publications.ts';
import { type ArmedPart, arm } from './kill/armed-part.ts';
import { type Databases, databasesOf } from './kill/databases-at-rest.ts';
import { KILL_PLANS, type KillPlan } from './kill/kill-plans.ts';
import {
  lostFiles,
  md5Of,
  type PackageWithFiles,
  packageWithFiles,
  sightOf,
} from './kill/package-with-files.ts';
import { ageLeftovers, sweepUp } from './kill/swept-storage.ts';
import { isFull, scaled, seed } from './scale.ts';

const SIZES = isFull ? [1, 10, 100] : [2];
const PAIRS = scaled(2, 200);
const RELAYS = scaled(3, 100);
const ROUND_MS = 900_000;
/** Watching all of a large package would be most of the load. */
const MOST_WATCHED = 10;
const WATCH_EVERY_MS = 200;

let system: TestSystem;
let author: HttpClient;
let stranger: HttpClient;
let databases: Databases;
beforeAll(async () => {
  system = await startSystem({
    environment: {
      // Who died holding a publication is not waited for as long as usual, and who is starting is waited for longer.
      PUBLISH_LEASE_MS: '1000',
      PUBLISH_SCAN_MS: '100',
      PUBLISH_REACH_MS: '20000',
    },
  });
  author = httpClient(system.baseUrl, system.token);
  stranger = httpClient(system.baseUrl);
  databases = databasesOf(system);
});
afterAll(async () => {
  await databases?.close();
  await system?.stop();
});

/** How rounds ended, for the one who runs the whole length. */
const ends = new Map<string, number>();
const count = (end: string) => ends.set(end, (ends.get(end) ?? 0) + 1);
afterAll(() => {
  if (isFull) process.stdout.write(`${JSON.stringify(Object.fromEntries(ends))}\n`);
});

/** The status of one attempt to publish; 0 when there was no answer. */
const publishOnce = ({ main }: PackageWithFiles): Promise<number> =>
  author.call('POST', link(main, 'publish')).then(
    ({ status }) => status,
    () => 0,
  );

/** Waits until the gateway has found every process that was started anew. */
async function allReached({ main, resources }: PackageWithFiles): Promise<void> {
  const [first] = resources;
  const targets = [
    `/packages/${main.id}/draft`,
    `/records/${first?.id}/draft`,
    `/records/${first?.id}/draft/files`,
  ];
  for (const target of targets) {
    const isReached = async () => (await author.call('GET', target)).status < 500;
    await until(isReached, { timeoutMs: 60_000, what: `an answer to GET ${target}` });
  }
}

/** What an attempt may be answered while processes die. */
const UNANSWERED = [0, 409, 503];

/** Waits until all of a package is to be seen, or none of it, and nothing is under way any more. */
async function atRest(one: PackageWithFiles): Promise<'published' | 'draft'> {
  await until(() => sightOf(stranger, one), { everyMs: 100, what: 'one sight of the package' });
  await databases.atRest();
  return until(() => sightOf(stranger, one), { what: 'the same sight at rest' });
}

interface Attempts {
  dying: ArmedPart;
  points: readonly string[];
  answer: 202 | 400;
  /** Called when they have died at all points. */
  release?: () => Promise<void>;
}

/**
 * Publishes while processes die, and repeats where that published nothing: once for each death. Then nothing is lost,
 * announced twice or left behind.
 */
async function publishThrough(
  one: PackageWithFiles,
  { dying, points, answer, release }: Attempts,
): Promise<void> {
  const isOver = () => dying.haveDiedAt(points);
  const isIdle = async () => (await databases.underWay()).length === 0;
  const mayRepeat = {
    timeoutMs: points.length * 60_000,
    everyMs: 250,
    what: `deaths at ${points.join(', ')}`,
  };

  const statuses: number[] = [];
  const attempt = async (): Promise<void> => {
    await allReached(one);
    statuses.push(await publishOnce(one));
    await until(async () => (await isOver()) || (await isIdle()), mayRepeat);
  };
  await attempt();
  while (!(await isOver()) && statuses.length <= points.length) await attempt();
  expect(await dying.deaths()).toEqual(points);
  await release?.();
  let sight = await atRest(one);
  if (sight === 'draft' && answer === 202) {
    await attempt();
    sight = await atRest(one);
  }
  count(answer === 400 ? 'refused' : `published at attempt ${statuses.length}`);

  expect({
    unforeseen: statuses.filter((status) => ![answer, ...UNANSWERED].includes(status)),
    isOften: statuses.length > points.length + 1,
    sight,
    repeated: await publishOnce(one),
    offences: await databases.offences(),
    lost: answer === 202 ? await lostFiles(stranger, one) : [],
  }).toEqual({
    unforeseen: [],
    isOften: false,
    sight: answer === 202 ? 'published' : 'draft',
    repeated: answer,
    offences: [],
    lost: [],
  });
}

/** Does something while strangers look at a package, none of whom may see half of it. */
async function watched(one: PackageWithFiles, action: () => Promise<void>): Promise<void> {
  if (one.resources.length > MOST_WATCHED) return action();
  const watch = watchPublications(stranger, [one], { everyMs: WATCH_EVERY_MS });
  try {
    await action();
  } finally {
    expect((await watch.stop()).offences).toEqual([]);
  }
}

const plansOf = (...stories: KillPlan['story'][]) =>
  KILL_PLANS.filter(({ story }) => stories.includes(story));

/**
 * The points that one round dies at: in the short form all that are reached in the same way, one process after the other
 * in one publication; in the full form one.
 */
function roundsOf(plans: readonly KillPlan[]): KillPlan[][] {
  if (isFull) return plans.map((plan) => [plan]);
  const wayOf = ({ point, orders, ...way }: KillPlan) =>
    JSON.stringify({ ...way, first: orders.replace(`${point}:kill`, '') });
  return [...Map.groupBy(plans, wayOf).values()];
}

describe('kill -9 of a service while a package with files is published', () => {
  const plans = plansOf('publish', 'read', 'refused publish');
  const rounds = SIZES.flatMap((size) =>
    roundsOf(plans).map((round) => ({ steps: round.map(({ point }) => point).join(', '), round, size })),
  );
  test.each(rounds)(
    'at $steps, $size resources: all or nothing is published, and nothing is left behind',
    async ({ round, size }) => {
      const points = round.map(({ point }) => point);
      const [first] = round;
      if (first === undefined) throw new Error('a round without a point');
      const { accomplice, story, victim } = first;
      const title = `Killed at ${first.point}`;
      const one = await packageWithFiles(author, title, size, { isSound: story !== 'refused publish' });
      if (accomplice !== undefined) await arm(system, accomplice.part, accomplice.orders);
      let isHeld = accomplice !== undefined;
      const release = async () => {
        if (isHeld && accomplice !== undefined) await system.relaunch(accomplice.part);
        isHeld = false;
      };
      const reading = story === 'read' ? read(one) : undefined;
      try {
        const dying = await arm(system, victim, ...round.map(({ orders }) => orders));
        const answer = story === 'refused publish' ? 400 : 202;
        await watched(one, () => publishThrough(one, { dying, points, answer, release }));
      } finally {
        await reading?.stop();
        await release();
      }
    },
    ROUND_MS,
  );
});

/** Reads the resources of a package again and again. */
function read({ resources }: PackageWithFiles): { stop(): Promise<void> } {
  let isStopped = false;
  const reading = (async () => {
    while (!isStopped) {
      for (const { id } of resources) await stranger.call('GET', `/records/${id}`).catch(() => undefined);
    }
  })();
  return {
    stop: () => {
      isStopped = true;
      return reading;
    },
  };
}

describe('kill -9 of two services in one publication', () => {
  const choose = seededRandom(seed);
  const oneOf = (victim: ServiceName): KillPlan => {
    const candidates = plansOf('publish').filter((plan) => plan.isPlain && plan.victim === victim);
    const chosen = candidates[Math.floor(choose() * candidates.length)];
    if (chosen === undefined) throw new Error(`no point of ${victim}`);
    return chosen;
  };
  const pairs = Array.from({ length: PAIRS }, (_, index) => {
    const size = 1 + Math.floor(choose() * 5);
    return { index, size, coordinator: oneOf('packages'), participant: oneOf('records') };
  });
  test.each(pairs)(
    `$index: at $coordinator.point and $participant.point, $size resources (seed ${seed})`,
    async ({ size, coordinator, participant }) => {
      const title = `Killed at ${coordinator.point} and ${participant.point}`;
      const one = await packageWithFiles(author, title, size, { isSound: true });
      const [first, second] = await Promise.all([
        arm(system, 'packages', coordinator.orders),
        arm(system, 'records', participant.orders),
      ]);
      const points = [coordinator.point];
      await watched(one, () => publishThrough(one, { dying: first, points, answer: 202 }));
      count((await second.deaths()).length === 0 ? 'packages died alone' : 'packages and records died');
    },
    ROUND_MS,
  );
});

describe('kill -9 of the files service', () => {
  const rounds = roundsOf(plansOf('upload')).map((round) => ({
    steps: round.map(({ point }) => point).join(', '),
    round,
  }));
  test.each(rounds)(
    'at $steps: the file is there, or it can be sent again',
    async ({ round }) => {
      const draft = await newDraft('Killed while it got a file');
      const file = `${link(draft, 'files')}/data.bin`;
      const bytes = randomBytes(200_000);
      await author.sure('POST', link(draft, 'files'), { json: [{ key: 'data.bin' }] });
      const dying = await arm(system, 'files', ...round.map(({ orders }) => orders));
      const points = round.map(({ point }) => point);
      const { insist } = persistentClient(author);
      await insist('GET', file);
      const sendUntilDead = async () => {
        await author.call('PUT', `${file}/content`, { bytes }).catch(() => undefined);
        await author.call('POST', `${file}/commit`).catch(() => undefined);
        return dying.haveDiedAt(points);
      };
      await until(sendUntilDead, {
        timeoutMs: points.length * 60_000,
        what: `deaths at ${points.join(', ')}`,
      });
      expect(await dying.deaths()).toEqual(points);

      const found = await insist<FileEntry>('GET', file);
      count(`upload ${found.body.status}`);
      if (found.body.status === 'pending') {
        await author.sure('PUT', `${file}/content`, { bytes });
        await author.sure('POST', `${file}/commit`);
      }
      const published = await insist<Entity>('POST', link(draft, 'publish'));
      const { entries } = await stranger.sure<FilesListing>('GET', link(published.body, 'files'));
      const contents = await Promise.all(
        entries.map(async (entry) => md5Of((await stranger.call('GET', link(entry, 'content'))).bytes)),
      );
      expect({ checksums: entries.map(({ checksum }) => checksum), contents }).toEqual({
        checksums: [md5Of(bytes)],
        contents: [md5Of(bytes)],
      });
      await databases.atRest();
      expect(await databases.offences()).toEqual([]);
    },
    ROUND_MS,
  );

  test('what all that left lying is swept', () => sweepUp(system, databases), ROUND_MS);

  test.each(plansOf('sweep'))(
    'at $point: what the sweep left lying it takes next time',
    async ({ point, victim, orders }) => {
      const draft = await newDraft('Sent twice');
      const file = `${link(draft, 'files')}/data.bin`;
      const { insist } = persistentClient(author);
      await insist('POST', link(draft, 'files'), { json: [{ key: 'data.bin' }] });
      for (const size of [1_000, 2_000]) await insist('PUT', `${file}/content`, { bytes: randomBytes(size) });
      await ageLeftovers(system, databases);
      await died(await arm(system, victim, orders), point);
      await sweepUp(system, databases);
    },
    ROUND_MS,
  );
});

async function died(dying: ArmedPart, point: string): Promise<void> {
  await until(() => dying.haveDiedAt([point]), { timeoutMs: 60_000, what: `the death at ${point}` });
}

const newDraft = (title: string) =>
  author.sure<Entity>('POST', '/records', { json: recordDocument(title, { withFiles: true }) });

describe('kill -9 of a relay between the acknowledgement of an event and its mark', () => {
  const emitters: [ServiceName, (title: string) => Promise<unknown>][] = [
    ['packages', (title) => author.call('POST', '/packages', { json: packageDocument(title) })],
    ['records', (title) => author.call('POST', '/records', { json: recordDocument(title) })],
    ['files', async (title) => upload(author, await newDraft(title), 'data.bin', randomBytes(100))],
  ];
  const rounds = Array.from({ length: RELAYS }, (_, index) => index + 1);
  test.each(rounds)(
    '%i: no event is lost, none counts twice',
    async (round) => {
      const [victim, emit] = emitters[round % emitters.length] ?? [];
      if (victim === undefined || emit === undefined) throw new Error('nobody emits');
      const dying = await arm(system, victim, 'outbox.mark.before:kill');
      const { insist } = persistentClient(author);
      await Promise.all(['/user/packages', '/user/records'].map((target) => insist('GET', target)));
      const emitUntilDead = async () => {
        await emit(`Relayed ${round}`).catch(() => undefined);
        return dying.haveDiedAt(['outbox.mark.before']);
      };
      await until(emitUntilDead, { what: 'the death at outbox.mark.before' });
      await databases.atRest();
      expect(await databases.offences()).toEqual([]);
    },
    ROUND_MS,
  );
});
