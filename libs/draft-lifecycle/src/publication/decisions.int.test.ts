import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { callOf, type LifecycleFixture, lifecycleFixture, OWNER } from '../lifecycle-fixture.ts';
import { startStaleLockScanner } from './stale-locks.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

async function committed(publicationId: string): Promise<string> {
  const { id } = await life.create();
  await life.prepare([id], publicationId);
  life.decisions.set(publicationId, 'committed');
  return id;
}

/** A decision that the database refuses to carry out: there is no change number left. */
async function stuck(publicationId: string): Promise<string> {
  const id = await committed(publicationId);
  await life.prisma.$executeRawUnsafe('update version set revision = 9223372036854775807 where id = $1', id);
  return id;
}

test('only entities whose decision cannot be applied are in an unknown state', async () => {
  const [bad, good] = [await stuck('bad'), await committed('good')];
  const refs = [bad, good].map((id) => ({ id, form: 'FORM_PUBLISHED' as const }));
  const { results } = await life.handlers.ReadEntities({ refs }, callOf(OWNER));
  expect(results?.map(({ document, error }) => document?.id ?? error?.kind)).toEqual(['internal', good]);
});

test('an old lock that cannot be resolved does not delay the others', async () => {
  await stuck('first');
  life.world.now = new Date(life.world.now.getTime() + 1);
  const id = await committed('second');
  life.world.now = new Date(life.world.now.getTime() + 3_000);
  const scanner = startStaleLockScanner(life.context, 50);
  try {
    await until(async () => (await life.prisma.version.findUnique({ where: { id } }))?.visible === true);
  } finally {
    await scanner.stop();
  }
});
