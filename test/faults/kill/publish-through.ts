import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { until } from '@kr/testbed';
import { persistentClient } from '../../e2e/story/persistent-client.ts';
import { link } from '../../e2e/story/stories.ts';
import { watchPublications } from '../../e2e/story/watch-publications.ts';
import { type ArmedPart, arm } from './armed-part.ts';
import type { KillRound } from './kill-rounds.ts';
import type { KillWorld } from './kill-world.ts';
import { lostFiles, type PackageWithFiles, packageWithFiles, sightOf } from './package-with-files.ts';

/** Watching all of a large package would be most of the load. */
const MOST_WATCHED = 10;
const WATCH_EVERY_MS = 200;
const READ_EVERY_MS = 100;
/** Allowed answers to an attempt while processes die. */
const UNANSWERED = [0, 409, 503];

export interface Attempts {
  dying: ArmedPart;
  points: readonly string[];
  answer: 202 | 400;
  /** Called when they have died at all points. */
  release?: () => Promise<void>;
}

/** Lets processes die at each point of a round while a package with files is published. */
export async function playRound(
  world: KillWorld,
  { plans: [first, ...others], points }: KillRound,
  size: number,
): Promise<void> {
  const { accomplice, story, victim } = first;
  const { system, author } = world;
  const isSound = story !== 'refused publish';
  const one = await packageWithFiles(author, `Killed at ${first.point}`, size, { isSound });
  if (accomplice !== undefined) await arm(system, accomplice.part, accomplice.orders);
  let isHeld = accomplice !== undefined;
  const release = async () => {
    if (isHeld && accomplice !== undefined) await system.relaunch(accomplice.part);
    isHeld = false;
  };
  const reading = story === 'read' ? read(world, one) : undefined;
  try {
    const dying = await arm(system, victim, ...[first, ...others].map(({ orders }) => orders));
    await publishThrough(world, one, { dying, points, answer: isSound ? 202 : 400, release });
  } finally {
    await reading?.stop();
    await release();
  }
}

/**
 * Publishes while processes die and strangers watch, and repeats attempts without effect: once for each death.
 * Afterwards nothing is lost, published twice or left behind, and no reader has seen half of it.
 */
export async function publishThrough(world: KillWorld, one: PackageWithFiles, how: Attempts): Promise<void> {
  if (one.resources.length > MOST_WATCHED) return attempts(world, one, how);
  const watch = watchPublications(world.stranger, [one], { everyMs: WATCH_EVERY_MS });
  try {
    await attempts(world, one, how);
  } finally {
    expect((await watch.stop()).offences).toEqual([]);
  }
}

async function attempts(
  world: KillWorld,
  one: PackageWithFiles,
  { dying, points, answer, release }: Attempts,
): Promise<void> {
  const { databases, stranger, author } = world;
  const isOver = () => dying.haveDiedAt(points);
  const isIdle = async () => (await databases.underWay()).length === 0;
  const mayRepeat = {
    timeoutMs: points.length * 60_000,
    everyMs: 250,
    what: `deaths at ${points.join(', ')}`,
  };

  const statuses: number[] = [];
  const attempt = async (): Promise<void> => {
    await allReached(world, one);
    let isAnswered = false;
    const answered = publishOnce(world, one).finally(() => {
      isAnswered = true;
    });
    await until(async () => isAnswered || (await isOver()), mayRepeat);
    // A paused accomplice would answer only at the deadline of the publication.
    if (!isAnswered) await release?.();
    statuses.push(await answered);
    await until(async () => (await isOver()) || (await isIdle()), mayRepeat);
  };
  await attempt();
  while (!(await isOver()) && statuses.length <= points.length) await attempt();
  expect(await dying.deaths()).toEqual(points);
  await release?.();
  let sight = await atRest(world, one);
  if (sight === 'draft' && answer === 202) {
    await attempt();
    sight = await atRest(world, one);
  }
  world.count(answer === 400 ? 'refused' : `published at attempt ${statuses.length}`);

  expect({
    unforeseen: statuses.filter((status) => ![answer, ...UNANSWERED].includes(status)),
    isOften: statuses.length > points.length + 1,
    sight,
    repeated: (await persistentClient(author).insist('POST', link(one.main, 'publish'))).status,
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

/** The status of one attempt to publish; 0 when there was no answer. */
function publishOnce({ author }: KillWorld, { main }: PackageWithFiles): Promise<number> {
  return author.call('POST', link(main, 'publish')).then(
    ({ status }) => status,
    () => 0,
  );
}

async function allReached(world: KillWorld, { main, resources: [first] }: PackageWithFiles): Promise<void> {
  const record = `/records/${first?.id}/draft`;
  await world.reached(`/packages/${main.id}/draft`, record, `${record}/files`);
}

/** Waits until all of a package is to be seen, or none of it, and nothing is under way any more. */
async function atRest(
  { stranger, databases }: KillWorld,
  one: PackageWithFiles,
): Promise<'published' | 'draft'> {
  await until(() => sightOf(stranger, one), { everyMs: 100, what: 'one sight of the package' });
  await databases.atRest();
  return until(() => sightOf(stranger, one), { what: 'the same sight at rest' });
}

/** Reads the resources of a package again and again. */
function read({ stranger }: KillWorld, { resources }: PackageWithFiles): { stop(): Promise<void> } {
  let isStopped = false;
  const reading = (async () => {
    while (!isStopped) {
      for (const { id } of resources) await stranger.call('GET', `/records/${id}`).catch(() => undefined);
      await sleep(READ_EVERY_MS);
    }
  })();
  return {
    stop: () => {
      isStopped = true;
      return reading;
    },
  };
}
