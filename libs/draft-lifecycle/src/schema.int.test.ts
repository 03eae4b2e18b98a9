import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type LifecycleFixture, lifecycleFixture } from './lifecycle-fixture.ts';

let life: LifecycleFixture;
beforeAll(async () => {
  life = await lifecycleFixture();
});
afterAll(() => life.close());

test('every column of the models is in the migrated tables and every column of the tables in a model', async () => {
  const { prisma } = life;
  const models = { parent: prisma.parent, version: prisma.version, draft: prisma.draft };
  const others = {
    participant: prisma.participant,
    parent_link: prisma.parentLink,
    creation: prisma.creation,
  };
  const inModels = Object.entries({ ...models, ...others }).flatMap(([table, { fields }]) =>
    Object.keys(fields).map((field) => `${table}.${snakeCase(field)}`),
  );
  const rows = await prisma.$queryRaw<{ name: string }[]>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_name in ('parent', 'version', 'draft', 'participant', 'parent_link', 'creation')`;
  expect(inModels.sort()).toEqual(rows.map(({ name }) => name).sort());
  // Reading all of them shows that the types agree.
  await Promise.all([
    prisma.parent.findMany(),
    prisma.version.findMany(),
    prisma.draft.findMany(),
    prisma.participant.findMany(),
    prisma.parentLink.findMany(),
    prisma.creation.findMany(),
  ]);
});

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
