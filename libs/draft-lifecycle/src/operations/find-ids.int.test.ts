import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { COORDINATOR, callOf, type LifecycleFixture, lifecycleFixture } from '../lifecycle-fixture.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

test('entities and parents are found, and entities whose files are permanently deleted are named', async () => {
  const [draft, published, purged] = [await life.create(), await life.create(), await life.create()];
  await life.publish(published.id);
  await life.publish(purged.id);
  await life.prisma.$executeRaw`
    update version set removal = '{}', removed_at = now(), purged_at = now() where id = ${purged.id}`;
  const ids = [draft.id, draft.parentId, published.id, purged.id, purged.parentId];
  const found = await life.handlers.FindIds({ ids: [...ids, 'unknown'] }, callOf(COORDINATOR));
  expect({ ids: found.ids?.toSorted(), purgedIds: found.purgedIds }).toEqual({
    ids: ids.toSorted(),
    purgedIds: [purged.id],
  });
});
