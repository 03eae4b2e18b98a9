import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import {
  callOf,
  OWNER,
  PACKAGES,
  type RecordsFixture,
  recordsFixture,
  STRANGER,
} from '../testing/records-fixture.ts';
import { setPackageResources } from './set-package-resources.ts';

let records: RecordsFixture;
beforeAll(async () => {
  records = await recordsFixture();
});
afterAll(() => records.close());
beforeEach(() => {
  records.removed.length = 0;
});

const NOTHING = { packageParentId: '', accessJson: Buffer.alloc(0), restrictionRevision: '0' };
const hold = (packageId: string, ids: string[]) =>
  setPackageResources(records.context)({ packageId, revision: '2', ids, ...NOTHING }, callOf(PACKAGES));
const discard = (id: string, principal = OWNER) =>
  records.handlers.DeleteDraft({ id, ifRevision: '0' }, callOf(principal));
const exists = async (id: string) =>
  (await records.handlers.FindIds({ ids: [id] }, callOf(PACKAGES))).ids?.includes(id);

test('a resource that goes leaves the packages that hold it, in one call before the answer', async () => {
  const id = await records.create();
  await hold('p1', [id]);
  await hold('p2', [id]);
  await expect(discard(id, STRANGER)).rejects.toMatchObject({ kind: 'forbidden' });
  expect(records.removed).toEqual([]);
  expect([await discard(id), records.removed, await exists(id)]).toEqual([
    {},
    [{ ids: [id], requestId: OWNER.requestId }],
    false,
  ]);
});

test('a resource that no package holds needs no call', async () => {
  const id = await records.create();
  expect([await discard(id), records.removed, await exists(id)]).toEqual([{}, [], false]);
});

test('a published resource stays in its packages when its edit draft goes', async () => {
  const id = await records.create();
  await records.publish([id]);
  await hold('p3', [id]);
  await records.handlers.EditPublished({ id, ifRevision: '0' }, callOf(OWNER));
  expect([await discard(id), records.removed, await exists(id)]).toEqual([{}, [], true]);
});

test('a resource goes also when the packages service is away', async () => {
  const id = await records.create();
  await hold('p4', [id]);
  const { remove } = records.packages;
  records.packages.remove = async () => {
    throw new ServiceError('unavailable', 'Away.');
  };
  expect([await discard(id), await exists(id)]).toEqual([{}, false]);
  records.packages.remove = remove;
});
