import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { GOOD_BODY, type LifecycleFixture, lifecycleFixture, OWNER } from './lifecycle-fixture.ts';
import { CREATION_KEY_LIFETIME_MS } from './store/drafts.ts';

let life: LifecycleFixture;
let key: Buffer<ArrayBuffer>;
beforeAll(async () => {
  life = await lifecycleFixture();
});
beforeEach(() => {
  key = newKey();
});
afterAll(() => life.close());

const newKey = () => Buffer.from(new Uint8Array(randomBytes(32)));
const create = () => life.create(GOOD_BODY, OWNER, key);
const stored = async () => ({
  parents: await life.prisma.parent.count(),
  versions: await life.prisma.version.count(),
  drafts: await life.prisma.draft.count(),
  events: (await life.events()).length,
});

describe('a creation that is repeated', () => {
  test('creates nothing, and returns the result of the first one', async () => {
    const first = await create();
    const before = await stored();
    expect([await create(), await stored()]).toEqual([first, before]);
  });

  test('many times at once makes one draft', async () => {
    const before = await stored();
    const made = await Promise.all(Array.from({ length: 8 }, create));
    const after = await stored();
    expect([new Set(made.map(({ id }) => id)).size, after]).toEqual([
      1,
      {
        parents: before.parents + 1,
        versions: before.versions + 1,
        drafts: before.drafts + 1,
        events: before.events + 1,
      },
    ]);
  });

  test('shows the draft as it is, and what was published of it', async () => {
    const { id } = await create();
    await life.update(id, { ...GOOD_BODY, metadata: { ...GOOD_BODY.metadata, title: 'Changed since' } });
    expect(await create()).toMatchObject({ id, revision: 2, json: { metadata: { title: 'Changed since' } } });
    await life.publish(id);
    expect(await create()).toMatchObject({ id, json: { is_published: true } });
  });

  test('returns the draft that took the last one of the owner, and adds none', async () => {
    const first = await create();
    life.limits.maxDrafts = 1;
    const [repeated, other] = await Promise.allSettled([create(), life.create(GOOD_BODY, OWNER, newKey())]);
    life.world.now = new Date(life.world.now.getTime() + CREATION_KEY_LIFETIME_MS);
    const [expired] = await Promise.allSettled([create()]);
    Object.assign(life.limits, { maxDrafts: 1_000 });
    expect([repeated, other, expired]).toMatchObject([
      { value: first },
      { reason: { code: 'too_many_drafts' } },
      { reason: { code: 'too_many_drafts' } },
    ]);
  });

  test('makes a new draft when the first one was deleted', async () => {
    const { id } = await create();
    await life.handlers.DeleteDraft({ id, ifRevision: '0' }, life.as(OWNER));
    expect((await create()).id).not.toBe(id);
  });

  test('is a new one after a day, and what is old is forgotten', async () => {
    const start = life.world.now;
    const { id } = await create();
    life.world.now = new Date(start.getTime() + CREATION_KEY_LIFETIME_MS);
    const again = await create();
    expect([again.id === id, await create()]).toEqual([false, again]);
    for (let count = 0; count < 20; count += 1) await life.create(GOOD_BODY, OWNER, newKey());
    const old = await life.prisma.creation.count({ where: { createdAt: { lte: start } } });
    life.world.now = start;
    expect(old).toBe(0);
  });
});

test('creations without a key, or with others, are not taken for repeated ones', async () => {
  const made = [
    await life.create(),
    await life.create(),
    await create(),
    await life.create(GOOD_BODY, OWNER, newKey()),
  ];
  expect(new Set(made.map(({ id }) => id)).size).toBe(4);
});
