import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import { v7 as uuidv7 } from 'uuid';
import {
  aPackageWith,
  OWNER,
  type PackagesFixture,
  packagesFixture,
  type Replica,
} from '../testing/packages-fixture.ts';
import { LOST } from '../testing/scripted-peers.ts';

const OPERATOR = servicePrincipal('kr-client');
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

let fixture: PackagesFixture;
let replica: Replica;
beforeAll(async () => {
  fixture = await packagesFixture();
  replica = await fixture.start();
});
afterAll(() => fixture.stop());
beforeEach(() => fixture.peers.reset());

const publish = (id: string) =>
  replica.publications.publish({ subject: 'SUBJECT_PACKAGE', id }, OWNER, { timeoutMs: 60_000 });
const list = async (request = {}) => (await replica.reports.listPublications(request, OPERATOR)).publications;
const of = async (entityId: string) => (await list()).find((one) => one.entityId === entityId);

async function failure(work: Promise<unknown>) {
  const thrown = await work.catch((error: unknown) => error);
  return thrown instanceof ServiceError ? { kind: thrown.kind, issues: thrown.issues } : thrown;
}

test('a successful publication is shown with all participants', async () => {
  const { id, parentId } = await aPackageWith(fixture, replica, ['r1', 'r2']);
  const { publicationId } = await publish(id);
  await until(async () => (await of(id))?.state === 'DONE');
  const summary = {
    id: publicationId,
    subject: 'SUBJECT_PACKAGE',
    entityId: id,
    state: 'DONE',
    epoch: 1,
    createdAt: INSTANT,
    ageMs: expect.stringMatching(/^\d+$/),
    participants: [
      { name: 'files', hasApplied: true },
      { name: 'records', hasApplied: true },
    ],
    requestedBy: 'user:owner',
    resources: 2,
  };
  expect(await of(id)).toEqual(summary);
  const read = await replica.reports.readPublication({ id: publicationId }, OPERATOR);
  expect({ ...read, snapshotJson: JSON.parse(read.snapshotJson) }).toEqual({
    summary: { ...summary, ageMs: expect.any(String) },
    packageParentId: parentId,
    leaseUntil: INSTANT,
    deadline: INSTANT,
    decidedAt: INSTANT,
    finishedAt: INSTANT,
    resourceIds: ['r1', 'r2'],
    publishedIds: [id, 'r1', 'r2'],
    snapshotJson: { package: { id, revision: expect.any(Number) }, resources: ['r1', 'r2'] },
    refusal: null,
  });
});

test('one that was refused is shown with every problem', async () => {
  const { id } = await aPackageWith(fixture, replica, ['r3']);
  const issues = [
    { field: 'metadata.title', messages: ['Too short.', 'Too dull.'], record: 'r3' },
    { field: 'metadata.creators', messages: ['Missing.'], record: 'r3' },
  ];
  fixture.peers.say.prepare = async () => ({ isPrepared: false, issues });
  await publish(id).catch(() => undefined);
  await until(async () => (await of(id))?.state === 'ABORT_DONE');
  const publicationId = (await of(id))?.id ?? '';
  const { refusal } = await replica.reports.readPublication({ id: publicationId }, OPERATOR);
  expect(refusal).toEqual({
    kind: 'not_publishable',
    message: 'A validation error occurred.',
    code: '',
    issues,
  });
});

test('one with a participant that is not notified names it, and is found by state and age', async () => {
  const { id } = await aPackageWith(fixture, replica, ['r4']);
  fixture.peers.say.applyDecisionToBuckets = async () => {
    throw LOST;
  };
  await publish(id);
  await until(async () => (await of(id))?.participants.some(({ hasApplied }) => hasApplied));
  expect(await of(id)).toMatchObject({
    state: 'COMMITTED',
    participants: [
      { name: 'files', hasApplied: false },
      { name: 'records', hasApplied: true },
    ],
  });
  const ids = async (request: object) => (await list(request)).map(({ entityId }) => entityId);
  expect({
    committed: await ids({ states: ['COMMITTED'] }),
    preparing: await ids({ states: ['PREPARING'] }),
    either: await ids({ states: ['PREPARING', 'COMMITTED'] }),
    old: await ids({ states: ['COMMITTED'], olderThanMs: 3_600_000 }),
    first: await ids({ limit: 1 }),
    hasMore: (await replica.reports.listPublications({ limit: 1 }, OPERATOR)).hasMore,
  }).toEqual({ committed: [id], preparing: [], either: [id], old: [], first: [id], hasMore: true });

  fixture.peers.reset();
  await until(async () => (await of(id))?.state === 'DONE');
});

describe('refuses', () => {
  test.each([
    ['a user who does not operate the system', {}, OWNER, { kind: 'forbidden', issues: [] }],
    [
      'a state that there is not',
      { states: ['STUCK'] },
      OPERATOR,
      {
        kind: 'invalid',
        issues: [
          {
            field: 'states',
            messages: ['Must be one of: PREPARING, COMMITTED, ABORTED, DONE, ABORT_DONE.'],
          },
        ],
      },
    ],
    [
      'a limit beyond the largest',
      { limit: 1_001 },
      OPERATOR,
      { kind: 'invalid', issues: [{ field: 'limit', messages: ['At most 1000.'] }] },
    ],
    [
      'an age that no instant has',
      { olderThanMs: '9000000000000000000' },
      OPERATOR,
      { kind: 'invalid', issues: [{ field: 'older_than_ms', messages: ['From 0 to 31536000000.'] }] },
    ],
    [
      'an age in the future',
      { olderThanMs: '-1' },
      OPERATOR,
      { kind: 'invalid', issues: [{ field: 'older_than_ms', messages: ['From 0 to 31536000000.'] }] },
    ],
  ])('to list for %s', async (_, request, principal, expected) => {
    expect(await failure(replica.reports.listPublications(request, principal))).toMatchObject(expected);
  });

  test.each([
    ['a user who does not operate the system', uuidv7(), OWNER, 'forbidden'],
    ['an unknown id', uuidv7(), OPERATOR, 'not_found'],
    ['what is no id', 'x', OPERATOR, 'not_found'],
  ])('to show it for %s', async (_, id, principal, kind) => {
    expect(await failure(replica.reports.readPublication({ id }, principal))).toMatchObject({ kind });
  });
});

test('an operator who is a user sees what services see', async () => {
  const admin = { ...OWNER, isAdmin: true };
  const { publications } = await replica.reports.listPublications({}, admin);
  expect(publications.length).toBeGreaterThan(0);
});
