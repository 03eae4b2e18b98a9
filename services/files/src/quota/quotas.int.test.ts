import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { createLogger } from '@kr/telemetry';
import { seededRandom, until } from '@kr/testbed';
import { startContentServer } from '../content-server.ts';
import { openContext } from '../context.ts';
import { removeUnreferencedObjects } from '../maintenance/garbage-collection.ts';
import { type FilesUnderTest, GATEWAY, PACKAGES, startFilesUnderTest } from '../testing/files-under-test.ts';
import { checkUsage } from './check-usage.ts';

const ENTITY = 10_000;
const USER = 25_000;

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({ maxBytesPerEntity: ENTITY, maxBytesPerUser: USER });
  files.ownerOf = (entityId) => entityId.split(' ')[0] ?? '';
});
afterAll(() => files.stop());

const bytes = (count: number) => Buffer.alloc(count, 'x');
const answered = ({ status, body }: { status: number; body: Buffer }) =>
  status === 200 ? 200 : `${status} ${JSON.parse(String(body)).code}`;

/** Of many requests that wait for one bucket some are refused as retryable on a loaded machine. */
const unlessBusy = <Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> =>
  until(
    async () => {
      const answer = await send();
      return answer.status === 503 ? undefined : answer;
    },
    { timeoutMs: 240_000, everyMs: 500 },
  );

async function put(entityId: string, key: string, count: number): Promise<200 | string> {
  return answered(await unlessBusy(() => files.put(entityId, key, bytes(count))));
}

async function reservations(entityId: string): Promise<number> {
  const { rows } = await files.sql.query('select id from reservation where entity_id = $1', [entityId]);
  return rows.length;
}

/** Removes all bytes that nothing refers to, however short the time has been. */
async function sweep(): Promise<void> {
  const context = await openContext(files.config, createLogger('files', { write: () => {} }));
  await removeUnreferencedObjects({ ...context, garbageGraceMs: -60_000 });
  await context.close();
}

/** The counter's value, and the stored bytes. */
async function counted(owner: string): Promise<{ counted: number; stored: number }> {
  const { rows } = await files.sql.query(
    `select (select coalesce(sum(bytes), 0) from owner_usage where owner_id = $1)::int as counted,
       (select coalesce(sum(size), 0) from object where owner_id = $1)::int
       + (select coalesce(sum(bytes), 0) from reservation where owner_id = $1)::int
       + (select coalesce(sum(upload_usage(upload)), 0) from upload where owner_id = $1)::int as stored`,
    [owner],
  );
  return rows[0];
}

/** Starts a resumable upload. */
async function create(entityId: string, key: string, headers: Record<string, string>): Promise<Response> {
  return fetch(`http://127.0.0.1:${files.service.contentPort}/uploads/${entityId}/${key}`, {
    method: 'POST',
    headers: { 'tus-resumable': '1.0.0', 'kr-ticket': files.ticket(entityId), ...headers },
  });
}

async function change(
  entityId: string,
  created: Response,
  method: string,
  headers: Record<string, string> = {},
  body?: Buffer<ArrayBuffer>,
): Promise<Response> {
  const address = `http://127.0.0.1:${files.service.contentPort}${created.headers.get('location')}`;
  return fetch(address, {
    method,
    headers: { 'tus-resumable': '1.0.0', 'kr-ticket': files.ticket(entityId), ...headers },
    ...(body === undefined ? {} : { body }),
  });
}

describe('the quota of an entity', () => {
  test('refuses declared lengths before the bytes arrive, and reports the rest of the limit', async () => {
    await files.start('ann-1', 'a', 'b');
    expect(await put('ann-1', 'a', 6_000)).toBe(200);
    const { request, answer } = files.openPut('ann-1', 'b', {
      'content-length': '4001',
      expect: '100-continue',
    });
    let isRequested = false;
    request.once('continue', () => {
      isRequested = true;
    });
    request.flushHeaders();
    const { status, body } = await answer;
    expect([isRequested, status, JSON.parse(String(body))]).toEqual([
      false,
      413,
      {
        status: 413,
        message: 'Bucket quota exceeded.',
        code: 'entity_quota_exceeded',
        errors: [
          {
            field: 'size',
            messages: ['The files of one entity may have at most 10000 bytes, of which 4000 are left.'],
          },
        ],
      },
    ]);
    request.destroy();
    expect(await put('ann-1', 'b', 4_000)).toBe(200);
    expect(await put('ann-1', 'b', 0)).toBe(200);
  });

  test('refuses undeclared bytes while they arrive, and leaves nothing of them', async () => {
    await files.start('ann-2', 'a', 'b');
    const before = await files.storedFiles();
    const { request, answer } = files.openPut('ann-2', 'a', { 'transfer-encoding': 'chunked' });
    request.write(bytes(9_999));
    await until(async () => (await reservations('ann-2')) === 1);
    request.write(bytes(2));
    request.end();
    expect(answered(await answer)).toBe('413 entity_quota_exceeded');
    await until(async () => (await reservations('ann-2')) === 0);
    expect(await files.storedFiles()).toEqual(before);
    expect(await put('ann-2', 'b', ENTITY)).toBe(200);
  });

  test('counts bytes that are replaced once, and what is deleted no more', async () => {
    await files.start('ann-3', 'a', 'b');
    expect(await put('ann-3', 'a', 9_000)).toBe(200);
    expect(await put('ann-3', 'a', 9_500)).toBe(200);
    expect(await put('ann-3', 'b', 501)).toBe('413 entity_quota_exceeded');
    await files.client.deleteEntries({ ticket: files.ticket('ann-3'), keys: ['a'] }, GATEWAY);
    expect(await put('ann-3', 'b', 6_000)).toBe(200);
  });

  test('is released when an upload is aborted, and expires when its process died', async () => {
    await files.start('ann-4', 'a', 'b');
    const { request, answer } = files.openPut('ann-4', 'a', { 'content-length': '9000' });
    request.write(bytes(10));
    await until(async () => (await reservations('ann-4')) === 1);
    expect(await put('ann-4', 'b', 1_001)).toBe('413 entity_quota_exceeded');
    request.destroy();
    await expect(answer).rejects.toThrow();
    await until(async () => (await reservations('ann-4')) === 0);
    const leave = (until: string) =>
      files.sql.query(
        `insert into reservation (id, entity_id, bytes, expires_at) values (gen_random_uuid(), 'ann-4', 9000, ${until})`,
      );
    await leave(`now() + interval '1 hour'`);
    expect(await put('ann-4', 'b', 1_001)).toBe('413 entity_quota_exceeded');
    await files.sql.query('delete from reservation');
    await leave(`now() - interval '1 second'`);
    expect(await put('ann-4', 'b', ENTITY)).toBe(200);
    expect(await reservations('ann-4')).toBe(0);
  });

  test('admits as many of fifty concurrent uploads as fit', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `${index}`);
    await files.start('crowd-1', ...keys);
    let most = 0;
    let isOver = false;
    const watch = (async () => {
      while (!isOver) {
        const { rows } = await files.sql.query(
          `select (select coalesce(sum(o.size), 0) from entry e join object o on o.id = e.object_id
             where e.entity_id = 'crowd-1')
           + (select coalesce(sum(bytes), 0) from reservation where entity_id = 'crowd-1') as used`,
        );
        most = Math.max(most, Number(rows[0].used));
      }
    })();
    const answers = await Promise.all(keys.map((key) => put('crowd-1', key, 900)));
    isOver = true;
    await watch;
    const taken = answers.filter((answer) => answer === 200);
    expect([taken.length, new Set(answers)]).toEqual([11, new Set([200, '413 entity_quota_exceeded'])]);
    expect([most <= ENTITY, await reservations('crowd-1')]).toEqual([true, 0]);
  });

  test('is never exceeded by fifty uploads of undeclared length', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `${index}`);
    await files.start('crowd-2', ...keys);
    const answers = await Promise.all(
      keys.map((key) => {
        const { request, answer } = files.openPut('crowd-2', key, { 'transfer-encoding': 'chunked' });
        request.end(bytes(900));
        return answer.then(answered);
      }),
    );
    const taken = answers.filter((answer) => answer === 200).length;
    expect([taken >= 1, taken <= 11]).toEqual([true, true]);
    expect(await reservations('crowd-2')).toBe(0);
  });

  test('that an upload has lost is not used by it', async () => {
    await files.start('ann-5', 'a');
    const { request, answer } = files.openPut('ann-5', 'a', { 'content-length': '20' });
    request.write(bytes(10));
    await until(async () => (await reservations('ann-5')) === 1);
    await files.sql.query('delete from reservation');
    request.end(bytes(10));
    expect((await answer).status).toBe(503);
    expect(await put('ann-5', 'a', 20)).toBe(200);
  });
});

describe('the quota of a user', () => {
  test('covers all drafts and publications of the owner, for any uploader', async () => {
    await files.upload('bob draft', 'a', bytes(9_000));
    await files.upload('bob published', 'a', bytes(9_000));
    await files.client.sealBuckets({ publicationId: 'p', epoch: 1, entityIds: ['bob published'] }, PACKAGES);
    await files.client.applyDecisionToBuckets(
      { publicationId: 'p', isCommitted: true, publishedIds: ['bob published'] },
      PACKAGES,
    );
    await files.start('bob third', 'a', 'b');
    const { status, body } = await files.put('bob third', 'a', bytes(7_001));
    expect([status, JSON.parse(String(body))]).toEqual([
      413,
      {
        status: 413,
        message: 'User quota exceeded.',
        code: 'user_quota_exceeded',
        errors: [
          {
            field: 'size',
            messages: [
              expect.stringContaining(
                'The files of this user may have at most 25000 bytes, of which 7000 are left.',
              ),
            ],
          },
        ],
      },
    ]);
    expect(await put('bob third', 'a', 7_000)).toBe(200);
    await files.start('eve draft', 'a');
    expect(await put('eve draft', 'a', 9_000)).toBe(200);
  });

  test('counts an object once, however many versions have it', async () => {
    for (const key of ['a', 'b']) await files.upload('carl 1', key, bytes(5_000));
    const ticket = files.ticket('carl 2', ['import_files'], 'carl 1');
    await files.client.importEntries({ ticket }, GATEWAY);
    await files.start('carl 3', 'a', 'b');
    expect(await put('carl 3', 'a', 10_000)).toBe(200);
    await files.start('carl 4', 'a');
    expect(await put('carl 4', 'a', 5_001)).toBe('413 user_quota_exceeded');
    expect(await put('carl 4', 'a', 5_000)).toBe(200);
    await files.client.deleteEntries({ ticket: files.ticket('carl 1'), keys: ['a'] }, GATEWAY);
    expect(await put('carl 3', 'b', 1)).toBe('413 entity_quota_exceeded');
    await files.start('carl 5', 'a');
    expect(await put('carl 5', 'a', 1)).toBe('413 user_quota_exceeded');
    await files.client.deleteEntries({ ticket: files.ticket('carl 2'), keys: ['a'] }, GATEWAY);
    expect(await put('carl 5', 'a', 5_000)).toBe('413 user_quota_exceeded');
    await sweep();
    expect(await put('carl 5', 'a', 5_000)).toBe(200);
  });

  test('admits as many of fifty concurrent uploads into as many drafts as fit', async () => {
    const drafts = Array.from({ length: 50 }, (_, index) => `dora ${index}`);
    for (const draft of drafts) await files.start(draft, 'a');
    const answers = await Promise.all(drafts.map((draft) => put(draft, 'a', 2_000)));
    expect([
      answers.filter((answer) => answer === 200).length,
      answers.filter((answer) => answer === '413 user_quota_exceeded').length,
    ]).toEqual([12, 38]);
  });
});

describe('the bytes of a user on the disk', () => {
  test('are bounded however often a file is replaced, and free once the replaced bytes are removed', async () => {
    await files.start('gus 1', 'a');
    const answers: (200 | string)[] = [];
    for (let n = 0; n < 8; n += 1) answers.push(await put('gus 1', 'a', 4_000));
    expect(answers).toEqual([...Array(6).fill(200), ...Array(2).fill('413 user_quota_exceeded')]);
    expect(await counted('gus')).toEqual({ counted: 24_000, stored: 24_000 });
    const { body } = await files.put('gus 1', 'a', bytes(4_000));
    const [message] = JSON.parse(String(body)).errors[0].messages;
    expect(message).toMatch(
      / 20000 bytes of replaced and deleted files still count; .* after [-\d]+T\d\d:\d\dZ\.$/,
    );
    await sweep();
    expect(await counted('gus')).toEqual({ counted: 4_000, stored: 4_000 });
    expect(await put('gus 1', 'a', 4_000)).toBe(200);
  });

  test('are bounded for uploads of unknown length, which reserve room before it is filled', async () => {
    const drafts = Array.from({ length: 12 }, (_, n) => `hal ${n}`);
    for (const draft of drafts) await files.start(draft, 'a');
    const uploads = await Promise.all(
      drafts.map((draft) => create(draft, 'a', { 'upload-defer-length': '1' })),
    );
    const patch = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
    const answers = await Promise.all(
      uploads.map((upload, n) => change(drafts[n] ?? '', upload, 'PATCH', patch, bytes(4_500))),
    );
    expect(answers.filter(({ status }) => ![204, 413].includes(status))).toEqual([]);
    const { counted: used, stored } = await counted('hal');
    expect([used === stored, used <= USER]).toEqual([true, true]);
    expect(answers.filter(({ status }) => status === 204).length).toBe(used / 4_500);
  });

  test('are counted again when a counter is wrong or missing', async () => {
    const context = await openContext(files.config, createLogger('files', { write: () => {} }));
    for (const owner of ['ivy', 'jon']) await files.upload(`${owner} 1`, 'a', bytes(2_000));
    await files.sql.query(`update owner_usage set bytes = 12345 where owner_id = 'ivy'`);
    await files.sql.query(`delete from owner_usage where owner_id = 'jon'`);
    expect(await checkUsage(context)).toBe(2);
    for (const owner of ['ivy', 'jon'])
      expect(await counted(owner)).toEqual({ counted: 2_000, stored: 2_000 });
    expect(await checkUsage(context)).toBe(0);
    await context.close();
  });

  test('are counted correctly after any history of uploads, deletions and collections', async () => {
    const random = seededRandom(7);
    const pick = (items: readonly string[]) => items[Math.floor(random() * items.length)] ?? '';
    const drafts = ['ida 1', 'ida 2', 'ida 3'];
    const keys = ['a', 'b', 'c'];
    const uploads = new Map<string, Response>();
    const steps: Record<string, (draft: string, key: string, size: number) => Promise<unknown>> = {
      start: (draft, key) => files.start(draft, key),
      put: (draft, key, size) => put(draft, key, size),
      tus: async (draft, key, size) =>
        uploads.set(draft, await create(draft, key, { 'upload-length': String(size) })),
      deferred: async (draft, key) =>
        uploads.set(draft, await create(draft, key, { 'upload-defer-length': '1' })),
      patch: async (draft, _key, size) => {
        const upload = uploads.get(draft);
        const headers = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
        if (upload?.status === 201) await change(draft, upload, 'PATCH', headers, bytes(size));
      },
      end: async (draft) => {
        const upload = uploads.get(draft);
        if (upload?.status === 201) await change(draft, upload, 'DELETE');
      },
      delete: (draft, key) =>
        files.client.deleteEntries({ ticket: files.ticket(draft), keys: [key] }, GATEWAY),
      import: (draft) =>
        files.client.importEntries({ ticket: files.ticket(draft, ['import_files'], pick(drafts)) }, GATEWAY),
      sweep,
    };
    const names = [...Object.keys(steps), 'start', 'put', 'put', 'patch'];
    for (let step = 0; step < 120; step += 1) {
      const name = pick(names);
      await steps[name]?.(pick(drafts), pick(keys), Math.floor(random() * 3_000)).catch((thrown: unknown) => {
        // Uploads that are impossible now are refused.
        if (!(thrown instanceof ServiceError)) throw thrown;
      });
      const { counted: used, stored } = await counted('ida');
      expect([step, name, used]).toEqual([step, name, stored]);
      expect(used).toBeLessThanOrEqual(USER);
    }
  });
});

describe('a resumable upload', () => {
  test('is reserved from its creation until it is finished, deleted or expired', async () => {
    await files.start('fay-1', 'a', 'b');
    const created = await create('fay-1', 'a', { 'upload-length': '8000' });
    expect(created.status).toBe(201);
    expect(await put('fay-1', 'b', 2_001)).toBe('413 entity_quota_exceeded');
    const refused = await create('fay-1', 'b', { 'upload-length': '2001' });
    expect([refused.status, await refused.json()]).toMatchObject([413, { code: 'entity_quota_exceeded' }]);
    const again = await create('fay-1', 'a', { 'upload-length': '9000' });
    expect(again.status).toBe(201);
    expect((await change('fay-1', again, 'DELETE')).status).toBe(204);
    const last = await create('fay-1', 'a', { 'upload-length': '10000' });
    expect(await put('fay-1', 'b', 1)).toBe('413 entity_quota_exceeded');
    await files.sql.query(`update upload set expires_at = now() - interval '1 second'`);
    expect(await put('fay-1', 'b', 5_000)).toBe(200);
    expect(last.status).toBe(201);
  });

  test('counts as its file once it is finished', async () => {
    await files.start('fay-2', 'a', 'b');
    const created = await create('fay-2', 'a', { 'upload-length': '6000' });
    const patch = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
    expect((await change('fay-2', created, 'PATCH', patch, bytes(6_000))).status).toBe(204);
    expect(await put('fay-2', 'b', 4_001)).toBe('413 entity_quota_exceeded');
    expect(await put('fay-2', 'b', 4_000)).toBe(200);
  });

  test('that declares its length later is limited by the rest at that time', async () => {
    await files.start('fay-3', 'a', 'b');
    const created = await create('fay-3', 'a', { 'upload-defer-length': '1' });
    expect(await put('fay-3', 'b', 6_000)).toBe(200);
    const patch = { 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
    const tooLong = await change('fay-3', created, 'PATCH', { ...patch, 'upload-length': '4001' }, bytes(10));
    expect([tooLong.status, await tooLong.json()]).toMatchObject([413, { code: 'entity_quota_exceeded' }]);
    const tooMuch = await change('fay-3', created, 'PATCH', patch, bytes(4_001));
    expect([tooMuch.status, await tooMuch.json()]).toMatchObject([413, { code: 'entity_quota_exceeded' }]);
    const fitting = await change(
      'fay-3',
      created,
      'PATCH',
      { ...patch, 'upload-length': '4000' },
      bytes(4_000),
    );
    expect(fitting.status).toBe(204);
  });

  test('is one of fifty at the limit', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `${index}`);
    await files.start('fay-4', ...keys);
    const answers = await Promise.all(
      keys.map(async (key, index) => {
        if (index % 2 === 0) return put('fay-4', key, 900);
        const { status } = await unlessBusy(() => create('fay-4', key, { 'upload-length': '900' }));
        return status === 201 ? 200 : status;
      }),
    );
    expect(answers.filter((answer) => answer === 200).length).toBe(11);
  });
});

test('a full store is reported as such, and nothing is left of the upload', async () => {
  const context = await openContext(files.config, createLogger('files', { write: () => {} }));
  const write: typeof context.blobs.write = async () => {
    throw new ServiceError('insufficient_storage', 'There is not enough space to store the file.');
  };
  const server = await startContentServer(
    { ...context, blobs: { ...context.blobs, write } },
    { host: '127.0.0.1', port: 0 },
  );
  await files.start('full-1', 'a');
  const response = await fetch(`http://127.0.0.1:${server.port}/content/full-1/a`, {
    method: 'PUT',
    headers: { 'kr-ticket': files.ticket('full-1') },
    body: bytes(9_000),
  });
  expect([response.status, await response.json(), await reservations('full-1')]).toEqual([
    507,
    {
      status: 507,
      message: 'There is not enough space to store the file.',
      code: 'insufficient_storage',
    },
    0,
  ]);
  await server.stop(0);
  await context.close();
  expect(await put('full-1', 'a', ENTITY)).toBe(200);
});
