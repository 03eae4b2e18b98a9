import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type PackagesFixture, packagesFixture } from '../testing/packages-fixture.ts';

let fixture: PackagesFixture;

beforeAll(async () => {
  fixture = await packagesFixture();
  await fixture.start();
});
afterAll(() => fixture.stop());

test('the models and the migrated tables have the same columns', async () => {
  const { publication, packageResource, packageContext } = fixture.database;
  const models = { publication, package_resource: packageResource, package_context: packageContext };
  const inModels = Object.entries(models).flatMap(([table, { fields }]) =>
    Object.keys(fields).map((field) => `${table}.${snakeCase(field)}`),
  );
  const rows = await fixture.database.$queryRaw<{ name: string }[]>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_name in ('publication', 'package_resource', 'package_context')`;
  expect(inModels.sort()).toEqual(rows.map(({ name }) => name).sort());
  // Reading all of them shows that the types agree.
  await Promise.all([publication.findMany(), packageResource.findMany(), packageContext.findMany()]);
});

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
