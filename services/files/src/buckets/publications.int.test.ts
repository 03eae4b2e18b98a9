import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { servicePrincipal } from '@kr/caller';
import { until } from '@kr/testbed';
import {
  type FilesUnderTest,
  GATEWAY,
  PACKAGES,
  refusalOf,
  startFilesUnderTest,
} from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest();
});
afterAll(() => files.stop());

const seal = (publicationId: string, entityIds: string[], epoch = 1) =>
  files.client.sealBuckets({ publicationId, epoch, entityIds }, PACKAGES);
const decide = (publicationId: string, isCommitted: boolean, publishedIds: string[] = []) =>
  files.client.applyDecisionToBuckets({ publicationId, isCommitted, publishedIds }, PACKAGES);
/** The number of queries to the coordinator about it; old seals are queried in addition. */
const timesQueried = (publicationId: string) =>
  files.queriedPublications.filter((ids) => ids.includes(publicationId)).length;
const stateOf = async (entityId: string) => {
  const { rows } = await files.sql.query('select state from bucket where entity_id = $1', [entityId]);
  return rows.map(({ state }) => state)[0];
};

const LOCKED = { kind: 'conflict', message: 'The draft is being published.', code: 'draft_locked' };
const IMMUTABLE = {
  kind: 'forbidden',
  message: 'Bucket is locked for modifications.',
  code: 'files_immutable',
};

/** The answer to each way of changing a bucket. */
async function everyWrite(entityId: string, key: string) {
  const ticket = files.ticket(entityId);
  const put = await files.put(entityId, key, 'late bytes');
  const { message, code } = JSON.parse(String(put.body));
  return {
    start: await refusalOf(files.start(entityId, `late-${key}`)),
    commit: await refusalOf(files.client.commitUpload({ ticket, key }, GATEWAY)),
    metadata: await refusalOf(
      files.client.updateEntryMetadata({ ticket, key, metadataJson: Buffer.from('{}') }, GATEWAY),
    ),
    delete: await refusalOf(files.client.deleteEntries({ ticket, keys: [key] }, GATEWAY)),
    deleteAll: await refusalOf(files.client.deleteEntries({ ticket, all: true }, GATEWAY)),
    import: await refusalOf(
      files.client.importEntries(
        { ticket: files.ticket(entityId, ['import_files'], 'other-00001') },
        GATEWAY,
      ),
    ),
    put: [put.status, message, put.headers['retry-after'], code],
  };
}

function allRefused(refusal: { kind: string; message: string }, put: unknown[]) {
  const {
    start,
    commit,
    metadata,
    delete: one,
    deleteAll,
    import: copy,
  } = Object.fromEntries(
    ['start', 'commit', 'metadata', 'delete', 'deleteAll', 'import'].map((name) => [name, refusal]),
  );
  return { start, commit, metadata, delete: one, deleteAll, import: copy, put };
}

describe('a seal', () => {
  test('counts the sealed buckets, in the given order, with empty buckets that had no row', async () => {
    await files.upload('count-00001', 'b.txt', '12345');
    await files.upload('count-00001', 'a.txt', '123');
    await files.start('count-00001', 'pending.txt');
    const buckets = [
      { entityId: 'count-00002', entries: 0, pending: 0, totalBytes: '0', keys: [] },
      {
        entityId: 'count-00001',
        entries: 3,
        pending: 1,
        totalBytes: '8',
        keys: ['b.txt', 'a.txt', 'pending.txt'],
      },
    ];
    const ids = ['count-00002', 'count-00001'];
    expect(await seal('x-count', ids)).toEqual({ isSealed: true, blockedBy: '', buckets });
    expect(await seal('x-count', ids)).toEqual({ isSealed: true, blockedBy: '', buckets });
    expect(await seal('x-count', ids, 2)).toEqual({ isSealed: true, blockedBy: '', buckets });
    expect(await files.client.describeBuckets({ entityIds: ids }, GATEWAY)).toEqual({ buckets });
  });

  test('refuses every change while it is undecided, and queries the coordinator each time', async () => {
    await files.upload('undecid-001', 'a.txt', 'abc');
    await seal('x-undecided', ['undecid-001']);
    files.decisions.set('x-undecided', 'DECISION_UNDECIDED');
    files.queriedPublications.length = 0;
    expect(await everyWrite('undecid-001', 'a.txt')).toEqual(
      allRefused(LOCKED, [409, LOCKED.message, '1', 'draft_locked']),
    );
    expect(timesQueried('x-undecided')).toBeGreaterThanOrEqual(7);
    expect((await files.get('undecid-001', 'a.txt')).status).toBe(200);
  });

  test('refuses every change as unavailable while the coordinator cannot be reached', async () => {
    await files.start('unreach-001', 'a.txt');
    await seal('x-unreachable', ['unreach-001']);
    expect(await everyWrite('unreach-001', 'a.txt')).toEqual(
      allRefused({ kind: 'unavailable', message: 'not reached' }, [503, 'not reached', '1', 'unavailable']),
    );
  });

  test('that was committed unheard makes the bucket immutable at the first write', async () => {
    await files.upload('commitd-001', 'a.txt', 'abc');
    await seal('x-committed', ['commitd-001', 'commitd-002']);
    files.decisions.set('x-committed', 'DECISION_COMMITTED');
    files.queriedPublications.length = 0;
    expect(await everyWrite('commitd-001', 'a.txt')).toEqual(
      allRefused(IMMUTABLE, [403, IMMUTABLE.message, undefined, 'files_immutable']),
    );
    expect(timesQueried('x-committed')).toBeLessThan(3);
    expect(await stateOf('commitd-002')).toBe('immutable');
    await decide('x-committed', true, ['commitd-001', 'commitd-002']);
    expect(String((await files.get('commitd-001', 'a.txt')).body)).toBe('abc');
  });

  test('that was aborted unheard opens the bucket at the first write', async () => {
    await files.start('aborted-001', 'a.txt');
    await seal('x-aborted', ['aborted-001']);
    files.decisions.set('x-aborted', 'DECISION_ABORTED');
    expect((await files.put('aborted-001', 'a.txt', 'abc')).status).toBe(200);
    expect(await stateOf('aborted-001')).toBe('open');
    expect(await seal('x-aborted', ['aborted-001'])).toMatchObject({ isSealed: false });
    expect(await stateOf('aborted-001')).toBe('open');
  });

  test('yields to another undecided one, all or none, and succeeds once that one is gone', async () => {
    await seal('x-first', ['shared-0001']);
    files.decisions.set('x-first', 'DECISION_UNDECIDED');
    expect(await seal('x-second', ['mine-000001', 'shared-0001'])).toEqual({
      isSealed: false,
      blockedBy: 'x-first',
      buckets: [],
    });
    expect(await stateOf('mine-000001')).toBe('open');
    files.decisions.set('x-first', 'DECISION_ABORTED');
    expect(await seal('x-second', ['mine-000001', 'shared-0001'])).toMatchObject({ isSealed: true });
  });

  test('leaves what is published as it is', async () => {
    await files.upload('old-0000001', 'a.txt', 'abc');
    await seal('x-old', ['old-0000001']);
    await decide('x-old', true, ['old-0000001']);
    expect(await seal('x-new', ['old-0000001', 'new-0000001'])).toMatchObject({ isSealed: true });
    expect(await stateOf('old-0000001')).toBe('immutable');
    await decide('x-new', false);
    expect([await stateOf('old-0000001'), await stateOf('new-0000001')]).toEqual(['immutable', 'open']);
  });

  test('of many buckets by many publications at once never deadlocks', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `dead-${String(index).padStart(6, '0')}`);
    const names = Array.from({ length: 12 }, (_, index) => `x-dead-${index}`);
    for (const name of names) files.decisions.set(name, 'DECISION_UNDECIDED');
    const outcomes = await Promise.all(
      names.map((name, index) => seal(name, index % 2 === 0 ? ids : ids.toReversed())),
    );
    expect(outcomes.filter(({ isSealed }) => isSealed)).toHaveLength(1);
  });

  test.each([
    ['a person', { ...servicePrincipal('packages'), service: null, userId: '1' }],
    ['another service', servicePrincipal('records')],
  ])('is not for %s', async (_who, principal) => {
    const request = { publicationId: 'x-forbidden', epoch: 1, entityIds: ['a'] };
    expect(await refusalOf(files.client.sealBuckets(request, principal))).toMatchObject({
      kind: 'forbidden',
    });
    expect(
      await refusalOf(
        files.client.applyDecisionToBuckets({ publicationId: 'x', isCommitted: true }, principal),
      ),
    ).toMatchObject({ kind: 'forbidden' });
  });
});

test('a publication of a thousand files writes, moves and copies no byte of them', async () => {
  const entityId = 'thousand-01';
  const keys = Array.from({ length: 1_000 }, (_, index) => `file ${index}`);
  await files.start(entityId, ...keys);
  for (const key of keys.slice(0, 10)) {
    await files.put(entityId, key, `content of ${key}`);
    await files.client.commitUpload({ ticket: files.ticket(entityId), key }, GATEWAY);
  }
  // The others have the same objects, as files of several versions do.
  await files.sql.query(
    `update entry e set state = 'completed', object_id = o.object_id, version_id = o.version_id, mimetype = o.mimetype
     from entry o where e.entity_id = $1 and o.entity_id = $1 and e.state = 'pending'
       and o.key = 'file ' || right(e.key, 1)`,
    [entityId],
  );
  const before = await bytesOnDisk();
  await seal('x-thousand', [entityId]);
  await decide('x-thousand', true, [entityId]);
  expect(await bytesOnDisk()).toEqual(before);
  expect((await files.list(entityId)).filter(({ isCompleted }) => isCompleted)).toHaveLength(1_000);
  expect(String((await files.get(entityId, 'file 999')).body)).toBe('content of file 9');
});

/** The stored values of each file that any write would change. */
async function bytesOnDisk(): Promise<string[]> {
  const entries = await readdir(files.storageDir, { recursive: true, withFileTypes: true });
  const stored = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const stats = await Promise.all(stored.sort().map(async (path) => ({ path, ...(await stat(path)) })));
  return stats.map(({ path, ino, size, mtimeMs, ctimeMs }) => [path, ino, size, mtimeMs, ctimeMs].join(' '));
}

describe('a decision', () => {
  test('may be received repeatedly', async () => {
    await seal('x-again', ['again-00001', 'again-00002']);
    for (let i = 0; i < 3; i += 1) await decide('x-again', true, ['again-00001']);
    expect([await stateOf('again-00001'), await stateOf('again-00002')]).toEqual(['immutable', 'open']);
    expect(await seal('x-again', ['again-00001', 'again-00002'])).toMatchObject({ isSealed: true });
    expect([await stateOf('again-00001'), await stateOf('again-00002')]).toEqual(['immutable', 'open']);
  });

  test('to abort that precedes the seal prevents it', async () => {
    await decide('x-early', false);
    expect(await seal('x-early', ['early-00001'])).toEqual({ isSealed: false, blockedBy: '', buckets: [] });
    await decide('x-early', false);
    expect(await stateOf('early-00001')).toBeUndefined();
  });

  test('never flips', async () => {
    await seal('x-flip', ['flip-000001']);
    await decide('x-flip', false);
    expect(await refusalOf(decide('x-flip', true, ['flip-000001']))).toMatchObject({ kind: 'internal' });
    expect(await stateOf('flip-000001')).toBe('open');
    await seal('x-flop', ['flip-000001']);
    await decide('x-flop', true, ['flip-000001']);
    expect(await refusalOf(decide('x-flop', false))).toMatchObject({ kind: 'internal' });
    expect(await stateOf('flip-000001')).toBe('immutable');
  });

  test('to commit without a known seal protects what was published', async () => {
    await files.upload('lost-000001', 'a.txt', 'abc');
    await decide('x-lost', true, ['lost-000001', 'lost-000002']);
    expect([await stateOf('lost-000001'), await stateOf('lost-000002')]).toEqual(['immutable', 'immutable']);
  });

  test('that was not delivered is queried after a while, and at the start', async () => {
    await seal('x-forgotten', ['forgot-0001']);
    await seal('x-undecided-2', ['forgot-0002']);
    await files.sql.query(
      "update bucket set sealed_at = sealed_at - interval '1 minute' where state = 'sealed'",
    );
    files.decisions.set('x-undecided-2', 'DECISION_UNDECIDED');
    files.decisions.set('x-unreachable', 'DECISION_UNDECIDED');
    files.decisions.set('x-count', 'DECISION_UNDECIDED');
    files.decisions.set('x-second', 'DECISION_UNDECIDED');
    files.decisions.set('x-forgotten', 'DECISION_COMMITTED');
    await files.restart();
    await until(async () => (await stateOf('forgot-0001')) === 'immutable');
    expect(await stateOf('forgot-0002')).toBe('sealed');
  });

  test('that cannot be carried out does not keep the others waiting', async () => {
    await seal('x-contradicted', ['contra-0001']);
    await seal('x-in-order', ['in-order-01']);
    await files.sql.query("update participant set state = 'applied' where publication_id = 'x-contradicted'");
    await files.sql.query(
      "update bucket set sealed_at = sealed_at - interval '1 minute' where state = 'sealed'",
    );
    files.decisions.set('x-contradicted', 'DECISION_ABORTED');
    files.decisions.set('x-in-order', 'DECISION_COMMITTED');
    await files.restart();
    await until(async () => (await stateOf('in-order-01')) === 'immutable');
    expect(await stateOf('contra-0001')).toBe('sealed');
  });
});

describe('an upload whose bytes flow while its bucket is sealed', () => {
  const half = Buffer.alloc(50_000, 'a');

  async function underWay(entityId: string) {
    await files.start(entityId, 'a.bin');
    const before = await files.storedFiles();
    const { request, answer } = files.openPut(entityId, 'a.bin', { 'content-length': '100000' });
    request.write(half);
    await until(async () => (await files.storedFiles()).tmp.length === 1);
    return { before, finish: () => request.end(half), answer };
  }
  const attached = async (entityId: string) => {
    const { rows } = await files.sql.query('select object_id from entry where entity_id = $1', [entityId]);
    return rows.map(({ object_id }) => object_id !== null);
  };

  test('is not attached while the publication is undecided', async () => {
    files.decisions.set('x-race-1', 'DECISION_UNDECIDED');
    const { before, finish, answer } = await underWay('race-000001');
    await seal('x-race-1', ['race-000001']);
    finish();
    const { status, body } = await answer;
    expect([status, JSON.parse(String(body))]).toEqual([
      409,
      { status: 409, message: LOCKED.message, code: LOCKED.code },
    ]);
    expect(await attached('race-000001')).toEqual([false]);
    expect(await files.storedFiles()).toEqual(before);
  });

  test('is not attached to files that were published meanwhile', async () => {
    const { before, finish, answer } = await underWay('race-000002');
    await seal('x-race-2', ['race-000002']);
    await decide('x-race-2', true, ['race-000002']);
    finish();
    expect((await answer).status).toBe(403);
    expect(await attached('race-000002')).toEqual([false]);
    expect(await files.storedFiles()).toEqual(before);
  });

  test('is attached when the publication was aborted', async () => {
    const { finish, answer } = await underWay('race-000003');
    await seal('x-race-3', ['race-000003']);
    await decide('x-race-3', false);
    finish();
    expect((await answer).status).toBe(200);
    expect(await attached('race-000003')).toEqual([true]);
  });

  test('is not attached to a file that was deleted or completed meanwhile', async () => {
    const deleted = await underWay('race-000004');
    await files.client.deleteEntries({ ticket: files.ticket('race-000004'), all: true }, GATEWAY);
    deleted.finish();
    expect((await deleted.answer).status).toBe(404);
    const completed = await underWay('race-000005');
    await files.put('race-000005', 'a.bin', 'first');
    const ticket = files.ticket('race-000005');
    await files.client.commitUpload({ ticket, key: 'a.bin' }, GATEWAY);
    completed.finish();
    expect((await completed.answer).status).toBe(400);
    expect(String((await files.get('race-000005', 'a.bin')).body)).toBe('first');
  });

  test('is in the counts of the seal or not in the bucket, however they interleave', async () => {
    for (let round = 0; round < 20; round += 1) {
      const entityId = `inter-${String(round).padStart(5, '0')}`;
      const publicationId = `x-inter-${round}`;
      files.decisions.set(publicationId, 'DECISION_UNDECIDED');
      await files.start(entityId, 'a', 'b', 'c');
      const uploads = ['a', 'b', 'c'].map(async (key) => {
        await files.put(entityId, key, 'abc');
        await refusalOf(files.client.commitUpload({ ticket: files.ticket(entityId), key }, GATEWAY));
      });
      await pause(round);
      const sealed = await seal(publicationId, [entityId]);
      await Promise.all(uploads);
      const now = await files.client.describeBuckets({ entityIds: [entityId] }, GATEWAY);
      expect(now.buckets).toEqual(sealed.buckets);
    }
  });
});
