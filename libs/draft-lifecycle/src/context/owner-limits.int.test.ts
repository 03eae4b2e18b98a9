import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { GOOD_BODY, type LifecycleFixture, lifecycleFixture, OWNER } from '../lifecycle-fixture.ts';

let life: LifecycleFixture;
let owner = 0;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

let me = OWNER;
beforeEach(() => {
  owner += 1;
  me = { ...OWNER, userId: `owner-${owner}` };
  Object.assign(life.limits, { maxDrafts: 1_000, maxMetadataBytes: 1_000_000_000 });
});

const codeOf = (done: Promise<unknown>) =>
  done.then(
    () => 'done',
    (thrown: { code?: string }) => thrown.code,
  );
const create = () => codeOf(life.create(GOOD_BODY, me));

test('a user may have a limited number of drafts, and may create another one after a deletion', async () => {
  life.limits.maxDrafts = 2;
  const first = await life.create(GOOD_BODY, me);
  expect([await create(), await create(), await create()]).toEqual([
    'done',
    'too_many_drafts',
    'too_many_drafts',
  ]);
  await life.handlers.DeleteDraft({ id: first.id, ifRevision: '0' }, life.as(me));
  expect([await create(), await create()]).toEqual(['done', 'too_many_drafts']);
});

test('published entities are no drafts, but their documents count', async () => {
  life.limits.maxDrafts = 1;
  const first = await life.create(GOOD_BODY, me);
  await life.publish(first.id);
  expect(await create()).toBe('done');
  life.limits.maxDrafts = 1_000;
  life.limits.maxMetadataBytes = 100;
  life.world.now = new Date(life.world.now.getTime() + 61_000);
  expect(await create()).toBe('metadata_quota_exceeded');
});

test('other users are not concerned', async () => {
  life.limits.maxDrafts = 1;
  await life.create(GOOD_BODY, me);
  expect(await codeOf(life.create(GOOD_BODY, { ...OWNER, userId: 'another' }))).toBe('done');
});

test('a new version is a draft of the owner', async () => {
  const first = await life.create(GOOD_BODY, me);
  await life.publish(first.id);
  const newVersion = () =>
    codeOf(life.handlers.CreateVersion({ id: first.id, ifRevision: '0' }, life.as(me)));
  life.limits.maxDrafts = 0;
  expect(await newVersion()).toBe('too_many_drafts');
  life.limits.maxDrafts = 1;
  // The second answer is the version that is open.
  expect([await newVersion(), await newVersion()]).toEqual(['done', 'done']);
});

test('an entity has at most a thousand versions', async () => {
  const first = await life.create(GOOD_BODY, me);
  await life.publish(first.id);
  await life.prisma.$executeRawUnsafe('update version set version_index = 1000 where id = $1', first.id);
  expect(await codeOf(life.handlers.CreateVersion({ id: first.id, ifRevision: '0' }, life.as(me)))).toBe(
    'too_many_versions',
  );
});
