import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createLogger } from '@kr/telemetry';
import { until } from '@kr/testbed';
import { startContentServer } from '../content-server.ts';
import { openContext } from '../context.ts';
import type { Database } from '../database.ts';
import { type FilesUnderTest, GATEWAY, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest({
    maxFileBytes: 30_000_000,
    progress: { idleMs: 6_000, minBytesPerSecond: 100 },
  });
});
afterAll(() => files.stop());

const PATIENT = { timeoutMs: 240_000, everyMs: 500 };
const json = (body: Buffer): unknown => JSON.parse(String(body));
const noTemporaryFile = () => until(async () => (await files.storedFiles()).tmp.length === 0);

describe('an upload', () => {
  test('is pending until it is committed, and then returned byte for byte', async () => {
    const bytes = randomBytes(20_000_000);
    const md5 = createHash('md5').update(bytes).digest('hex');
    await files.start('bytes-00001', 'big.bin');
    const put = await files.put('bytes-00001', 'big.bin', bytes);
    expect({ status: put.status, body: json(put.body) }).toEqual({
      status: 200,
      body: {
        key: 'big.bin',
        created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
        updated: expect.any(String),
        status: 'pending',
        metadata: null,
      },
    });
    const pending = await files.get('bytes-00001', 'big.bin');
    expect({ status: pending.status, body: json(pending.body) }).toEqual({
      status: 404,
      body: { status: 404, message: "Record 'bytes-00001' has no file 'big.bin'.", code: 'not_found' },
    });
    const ticket = files.ticket('bytes-00001');
    const { entry } = await files.client.commitUpload({ ticket, key: 'big.bin' }, GATEWAY);
    expect(entry?.checksum).toBe(`md5:${md5}`);
    const got = await files.get('bytes-00001', 'big.bin');
    expect(got.body.equals(bytes)).toBe(true);
  });

  test('may be repeated before the commit, and the last one wins', async () => {
    await files.start('again-00001', 'a.txt');
    await files.put('again-00001', 'a.txt', 'first');
    await files.put('again-00001', 'a.txt', 'second');
    const ticket = files.ticket('again-00001');
    await files.client.commitUpload({ ticket, key: 'a.txt' }, GATEWAY);
    expect(String((await files.get('again-00001', 'a.txt')).body)).toBe('second');
  });

  test('of a completed file is refused, and the file is kept', async () => {
    await files.upload('again-00002', 'a.txt', 'kept');
    const put = await files.put('again-00002', 'a.txt', 'other');
    expect(json(put.body)).toEqual({
      status: 400,
      message: 'The file upload transfer failed, please try again.',
      code: 'file_completed',
      hint: 'a.txt is complete already; delete it before you upload it again.',
    });
    expect(String((await files.get('again-00002', 'a.txt')).body)).toBe('kept');
  });

  test('without bytes is a file', async () => {
    const entry = await files.upload('empty-00001', 'empty.bin', '');
    expect({ size: entry?.size, checksum: entry?.checksum }).toEqual({
      size: '0',
      checksum: 'md5:d41d8cd98f00b204e9800998ecf8427e',
    });
    const got = await files.get('empty-00001', 'empty.bin');
    expect([got.status, got.headers['content-length'], got.body.length]).toEqual([200, '0', 0]);
  });

  test('of an unknown file, entity or path is not found', async () => {
    await files.start('known-00001', 'a');
    const answers = [
      await files.put('known-00001', 'nope.bin', 'x'),
      await files.put('none-000001', 'a', 'x'),
      await files.put('known-00001', '../../../etc/passwd', 'x'),
      await files.put('known-00001', 'a\0', 'x'),
    ];
    expect(answers.map(({ body }) => json(body))).toEqual([
      { status: 404, message: "Record 'known-00001' has no file 'nope.bin'.", code: 'not_found' },
      { status: 404, message: "Record 'none-000001' has no file 'a'.", code: 'not_found' },
      { status: 404, message: "Record 'known-00001' has no file '../../../etc/passwd'.", code: 'not_found' },
      { status: 404, message: "Record 'known-00001' has no file 'a\0'.", code: 'not_found' },
    ]);
  });

  test('that is cut short attaches nothing and leaves no file behind', async () => {
    await files.start('cut-0000001', 'a.bin');
    const before = await files.storedFiles();
    const { request, answer } = files.openPut('cut-0000001', 'a.bin', { 'content-length': '1000000' });
    request.write(randomBytes(500_000));
    await until(async () => (await files.storedFiles()).tmp.length === 1);
    request.destroy();
    await expect(answer).rejects.toThrow();
    await noTemporaryFile();
    expect(await files.storedFiles()).toEqual(before);
    const again = await files.put('cut-0000001', 'a.bin', 'whole');
    expect(again.status).toBe(200);
  });

  test('that ends before its declared length gets an error', async () => {
    await files.start('cut-0000002', 'a.bin');
    const socket = connect(files.service.contentPort, '127.0.0.1');
    socket.write(
      `PUT /content/cut-0000002/a.bin HTTP/1.1\r\nhost: x\r\nkr-ticket: ${files.ticket('cut-0000002')}\r\ncontent-length: 10\r\n\r\nabc`,
    );
    await until(async () => (await files.storedFiles()).tmp.length === 1);
    socket.end();
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer).toContain('{"status":400,"message":"Content-Length does not match file size."}');
    await noTemporaryFile();
    const ticket = files.ticket('cut-0000002');
    const { entries } = await files.client.listEntries({ ticket }, GATEWAY);
    expect(entries.map(({ isCompleted }) => isCompleted)).toEqual([false]);
    await expect(files.client.commitUpload({ ticket, key: 'a.bin' }, GATEWAY)).rejects.toThrow('no content');
  });

  test.each([
    ['GARBAGE\r\n\r\n', '400'],
    ...['-1', '+5', '0x10', '1e3', '5, 5', '5 5', '', '18446744073709551616', '5\r\ncontent-length: 6'].map(
      (length) =>
        [`PUT /content/a/b HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`, '400'] as const,
    ),
    [
      'PUT /content/a/b HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
      '400',
    ],
    [`GET / HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
  ])('that is no HTTP is answered in the same form: %#', async (bytes, status) => {
    const socket = connect(files.service.contentPort, '127.0.0.1');
    socket.write(bytes);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({
      status: Number(status),
      message: expect.any(String),
    });
  });

  test('larger than allowed is refused, declared or not, and the limit is named', async () => {
    await files.start('large-00001', 'a.bin');
    const refused = {
      status: 413,
      message: 'Maximum file size exceeded.',
      code: 'file_too_large',
      errors: [{ field: 'size', messages: ['A file may have at most 30000000 bytes.'] }],
    };
    const before = await files.storedFiles();
    const declared = await files.put('large-00001', 'a.bin', Buffer.alloc(30_000_001));
    expect(json(declared.body)).toEqual(refused);
    const { request, answer } = files.openPut('large-00001', 'a.bin', { 'transfer-encoding': 'chunked' });
    for (let sent = 0; sent <= 30_000_000; sent += 1_000_000) request.write(Buffer.alloc(1_000_000));
    request.end();
    expect(json((await answer).body)).toEqual(refused);
    await noTemporaryFile();
    expect(await files.storedFiles()).toEqual(before);
    expect((await files.put('large-00001', 'a.bin', Buffer.alloc(30_000_000))).status).toBe(200);
  });

  test('may take as long as it moves', async () => {
    await files.start('slow-000001', 'a.bin');
    const { request, answer } = files.openPut('slow-000001', 'a.bin');
    for (let i = 0; i < 16; i += 1) {
      request.write(Buffer.alloc(1_000));
      await pause(500);
    }
    request.end();
    expect((await answer).status).toBe(200);
  });

  test('that stalls is aborted', async () => {
    await files.start('slow-000002', 'a.bin');
    const { request, answer } = files.openPut('slow-000002', 'a.bin', { 'content-length': '1000' });
    request.on('error', () => {});
    request.write('abc');
    expect(json((await answer).body)).toEqual({ status: 408, message: 'The upload made no progress.' });
    await noTemporaryFile();
  });

  test('waits for 100 Continue when requested, and is refused before its bytes are sent', async () => {
    await files.start('expect-0001', 'a.bin');
    const accepted = files.openPut('expect-0001', 'a.bin', { expect: '100-continue' });
    accepted.request.once('continue', () => accepted.request.end('bytes'));
    accepted.request.flushHeaders();
    expect((await accepted.answer).status).toBe(200);
    const refused = files.openPut('expect-0001', 'nope', { expect: '100-continue' });
    refused.request.once('continue', () => refused.request.end('bytes'));
    refused.request.flushHeaders();
    expect((await refused.answer).status).toBe(404);
    refused.request.destroy();
  });

  test('of a hundred files at once into one bucket loses none', async () => {
    const keys = Array.from({ length: 100 }, (_, index) => `file ${index} ü.txt`);
    await files.start('many-000001', ...keys);
    const ticket = files.ticket('many-000001');
    await Promise.all(
      keys.map(async (key) => {
        // Many requests wait for one bucket, so on a loaded machine some are refused as retryable.
        const put = () => files.put('many-000001', key, `content of ${key}`);
        const stored = await until(async () => {
          const { status } = await put();
          return status === 503 ? undefined : status;
        }, PATIENT);
        expect(stored).toBe(200);
        await until(() => files.client.commitUpload({ ticket, key }, GATEWAY), PATIENT);
      }),
    );
    const entries = await files.list('many-000001');
    expect(entries.map(({ key }) => key)).toEqual(keys);
    expect(entries.map(({ checksum }) => checksum)).toEqual(
      keys.map((key) => `md5:${createHash('md5').update(`content of ${key}`).digest('hex')}`),
    );
  });

  test('of many bodies at once into one file attaches each whole, and leaves no reservation', async () => {
    await files.start('same-000001', 'a.txt');
    const bodies = Array.from({ length: 40 }, (_, index) => `body ${index}`.padEnd(index + 10));
    const answers = await Promise.all(
      bodies.map((body) =>
        until(async () => {
          const { status } = await files.put('same-000001', 'a.txt', body);
          return status === 503 ? undefined : status;
        }, PATIENT),
      ),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    const { rows } = await files.sql.query(`
      select count(*)::int as objects, count(unreferenced_at)::int as unreferenced,
        (select count(*)::int from reservation where entity_id = 'same-000001') as reservations
      from object where owner_id = 'owner of same-000001'`);
    expect(rows).toEqual([{ objects: 40, unreferenced: 39, reservations: 0 }]);
    await files.client.commitUpload({ ticket: files.ticket('same-000001'), key: 'a.txt' }, GATEWAY);
    expect(bodies).toContain(String((await files.get('same-000001', 'a.txt')).body));
  });

  test('keeps its bytes when the outcome of writing their row is unknown', async () => {
    const context = await openContext(files.config, createLogger('files', { write: () => {} }));
    const losingAnswers: Database = {
      ...context.database,
      $queryRawUnsafe: async <Rows>(statement: string, ...values: unknown[]) => {
        const rows = await context.database.$queryRawUnsafe<Rows>(statement, ...values);
        if (statement.includes('insert into object'))
          throw new Error('the connection was lost while committing');
        return rows;
      },
    };
    const server = await startContentServer(
      { ...context, database: losingAnswers },
      { host: '127.0.0.1', port: 0 },
    );
    await files.start('lost-000001', 'a.txt');
    const response = await fetch(`http://127.0.0.1:${server.port}/content/lost-000001/a.txt`, {
      method: 'PUT',
      headers: { 'kr-ticket': files.ticket('lost-000001') },
      body: 'kept',
    });
    expect(response.status).toBe(500);
    await server.stop(0);
    await context.close();
    const ticket = files.ticket('lost-000001');
    await files.client.commitUpload({ ticket, key: 'a.txt' }, GATEWAY);
    expect(String((await files.get('lost-000001', 'a.txt')).body)).toBe('kept');
  });

  test.each([
    ['read_files', 'ticket-0001', 403, 'Permission denied.'],
    ['write_files', 'ticket-0002', 403, 'Permission denied.'],
  ])('with a ticket to %s of %s is refused', async (action, entityId, status, message) => {
    await files.start('ticket-0001', `${action}.txt`);
    const headers = { 'kr-ticket': files.ticket(entityId, [action]) };
    const put = await files.put('ticket-0001', `${action}.txt`, 'x', headers);
    expect(json(put.body)).toEqual({ status, message, code: 'forbidden' });
  });

  test('without a ticket is refused', async () => {
    const put = await files.put('ticket-0001', 'a', 'x', { 'kr-ticket': '' });
    expect(put.status).toBe(401);
  });
});

describe('a download', () => {
  beforeAll(async () => {
    await files.upload('get-0000001', 'map.txt', 'hello world\n');
  });
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    files.get(
      'get-0000001',
      'map.txt',
      { 'kr-ticket': files.ticket('get-0000001', ['read_files']), ...headers },
      method,
    );

  test('has the headers that clients know', async () => {
    const { status, headers, body } = await get();
    expect({ status, headers, body: String(body) }).toEqual({
      status: 200,
      headers: {
        'accept-ranges': 'bytes',
        connection: 'close',
        'content-disposition': 'inline',
        'content-length': '12',
        'content-md5': '6f5902ac237024bdd0c176cb93063dc4',
        'content-security-policy': "default-src 'none'; sandbox",
        'content-type': 'text/plain; charset=utf-8',
        date: expect.any(String),
        etag: '"md5:6f5902ac237024bdd0c176cb93063dc4"',
        'last-modified': expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/),
        'repr-digest': 'sha-256=:qUiQTy8PR5uPgZdpSzAYSw0u0cHNKh7A+4XSmaGSpEc=:',
        'x-content-type-options': 'nosniff',
        'x-download-options': 'noopen',
        'x-frame-options': 'SAMEORIGIN',
        'x-permitted-cross-domain-policies': 'none',
        'x-xss-protection': '1; mode=block',
      },
      body: 'hello world\n',
    });
    const head = await get({}, 'HEAD');
    expect({ ...head, body: String(head.body) }).toEqual({
      status: 200,
      headers: { ...headers, date: expect.any(String) },
      body: '',
    });
  });

  test('never shows what a browser could run', async () => {
    await files.upload('get-0000002', 'evil.html', '<script>alert(1)</script>');
    await files.upload('get-0000002', 'ação.exe', 'MZ');
    const html = await files.get('get-0000002', 'evil.html');
    const exe = await files.get('get-0000002', 'ação.exe');
    expect(
      [html, exe].map(({ headers }) => [headers['content-type'], headers['content-disposition']]),
    ).toEqual([
      ['text/plain; charset=utf-8', 'inline'],
      ['application/octet-stream', 'attachment; filename="a??o.exe"; filename*=UTF-8\'\'a%C3%A7%C3%A3o.exe'],
    ]);
  });

  test('by another method or of another path is refused', async () => {
    const answer = await get({}, 'DELETE');
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, PUT']);
    const response = await fetch(`http://127.0.0.1:${files.service.contentPort}/content/a%ff/b`);
    expect([response.status, await response.json()]).toEqual([
      404,
      { status: 404, message: 'Not found.', code: 'not_found' },
    ]);
  });

  test('whose bytes are not what was stored is an error and not a short file', async () => {
    const entry = await files.upload('rot-0000001', 'a.bin', 'abc');
    await files.sql.query('update object set size = 4 where id = $1', [entry?.fileId]);
    const answer = await files.get('rot-0000001', 'a.bin');
    expect(json(answer.body)).toEqual({ status: 500, message: 'Internal server error.', code: 'internal' });
  });
});

describe('an image', () => {
  const png = Buffer.concat([
    Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
    Buffer.from('0000028000000168', 'hex'),
    Buffer.alloc(20),
  ]);

  test('has its width and height as metadata, unless the client gave some', async () => {
    const measured = await files.upload('image-00001', 'a.png', png);
    expect(measured?.metadataJson.toString()).toBe('{"width":640,"height":360}');
    await files.client.startUploads(
      {
        ticket: files.ticket('image-00001'),
        entries: [{ key: 'b.png', metadataJson: Buffer.from('{"width":1}') }],
      },
      GATEWAY,
    );
    await files.put('image-00001', 'b.png', png);
    const { entry } = await files.client.commitUpload(
      { ticket: files.ticket('image-00001'), key: 'b.png' },
      GATEWAY,
    );
    expect(entry?.metadataJson.toString()).toBe('{"width":1}');
  });

  test('that is none is a file all the same', async () => {
    const broken = await files.upload('image-00002', 'a.png', 'no image');
    const text = await files.upload('image-00002', 'a.txt', png);
    expect([broken, text].map((entry) => entry?.metadataJson.toString())).toEqual(['{}', '{}']);
  });
});
