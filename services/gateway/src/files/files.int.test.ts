import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

let gateway: GatewayUnderTest;
let token: string;

beforeAll(async () => {
  gateway = await startGateway();
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.script.records = {
    Authorise: async ({ id, form, action }) => ({
      ticket: `${id} ${form} ${action}`,
      filesEnabled: true,
      order: ['a.txt'],
    }),
  };
});

const AT = { createdAt: { seconds: 1795244083, nanos: 1_000 }, updatedAt: { seconds: 1795244084 } };
const PENDING = { key: 'ü.txt', ...AT, metadataJson: Buffer.from('null') };
const DRAFT = '/api/records/e7vvn-90a62/draft/files';

async function ask(path: string, init: Parameters<GatewayUnderTest['fetch']>[1] = {}) {
  const response = await gateway.fetch(path, { token, ...init });
  const body = await response.text();
  return { status: response.status, body: body === '' ? '' : JSON.parse(body) };
}

describe('files', () => {
  test('are listed with their links, for the ticket of the entity’s service', async () => {
    const tickets: string[] = [];
    gateway.script.files.ListEntries = async ({ ticket }) => {
      tickets.push(ticket);
      return { entries: [PENDING] };
    };
    const self = `${gateway.baseUrl}${DRAFT}`;
    const file = `${self}/%C3%BC.txt`;
    expect([await ask(DRAFT), tickets]).toEqual([
      {
        status: 200,
        body: {
          enabled: true,
          links: { self, archive: `${self}-archive` },
          entries: [
            {
              key: 'ü.txt',
              created: '2026-11-21 06:54:43.000001',
              updated: '2026-11-21 06:54:44.000000',
              status: 'pending',
              metadata: null,
              links: {
                self: file,
                content: `${file}/content`,
                commit: `${file}/commit`,
                tus: `${file}/tus`,
              },
            },
          ],
          default_preview: null,
          order: ['a.txt'],
        },
      },
      ['e7vvn-90a62 FORM_DRAFT read_files'],
    ]);
  });

  test('that are disabled are listed as such and otherwise refused', async () => {
    gateway.script.records = { Authorise: async () => ({ filesEnabled: false }) };
    const self = `${gateway.baseUrl}/api/records/x/files`;
    expect(await ask('/api/records/x/files')).toEqual({
      status: 200,
      body: { enabled: false, links: { self } },
    });
    const refused = {
      status: 403,
      body: { status: 403, message: 'Files are not enabled.', code: 'files_disabled' },
    };
    expect(await ask(DRAFT, { method: 'POST', body: '[]' })).toEqual(refused);
    expect(await ask(`${DRAFT}/a/content`)).toEqual(refused);
  });

  test('start with their keys and all given members', async () => {
    let started: unknown;
    gateway.script.files.StartUploads = async ({ entries }) => {
      started = entries.map(({ key, metadataJson }) => [key, metadataJson.toString()]);
      return { entries: [] };
    };
    const body = JSON.stringify([{ key: 'a' }, { key: 'b', metadata: { width: 3 }, size: 1 }]);
    const { status } = await ask(DRAFT, { method: 'POST', body });
    expect([status, started]).toEqual([
      201,
      [
        ['a', ''],
        ['b', '{"metadata":{"width":3},"size":1}'],
      ],
    ]);
  });

  test.each<[body: string, issues: string[]]>([
    ['{}', ['_schema: Invalid input type.']],
    ['"a"', ['_schema: Invalid input type.']],
    [
      '[{}, {"key":1}, {"key":null}, "a"]',
      [
        '0.key: Missing data for required field.',
        '1.key: Not a valid string.',
        '2.key: Field may not be null.',
        '3._schema: Invalid input type.',
      ],
    ],
  ])('do not start with %s', async (body, issues) => {
    const answer = await ask(DRAFT, { method: 'POST', body });
    const problems = answer.body.errors.map(
      (one: { field: string; messages: string[] }) => `${one.field}: ${one.messages}`,
    );
    expect([answer.status, problems]).toEqual([400, issues]);
  });

  test('that are complete show all members', async () => {
    gateway.script.files.CommitUpload = async ({ key }) => ({
      entry: {
        ...PENDING,
        key,
        isCompleted: true,
        metadataJson: Buffer.from('{"width":1}'),
        checksum: 'md5:6f5902ac237024bdd0c176cb93063dc4',
        mimetype: 'text/plain',
        size: '5000000000',
        fileId: 'f',
        versionId: 'v',
        bucketId: 'b',
        storageClass: 'S',
      },
    });
    const { body } = await ask(`${DRAFT}/a%2Fb/commit`, { method: 'POST' });
    const self = `${gateway.baseUrl}${DRAFT}/a%2Fb`;
    expect(Object.entries(body)).toEqual(
      Object.entries({
        key: 'a/b',
        storage_class: 'S',
        checksum: 'md5:6f5902ac237024bdd0c176cb93063dc4',
        size: 5_000_000_000,
        created: '2026-11-21 06:54:43.000001',
        updated: '2026-11-21 06:54:44.000000',
        status: 'completed',
        metadata: { width: 1 },
        mimetype: 'text/plain',
        version_id: 'v',
        file_id: 'f',
        bucket_id: 'b',
        links: { self, content: `${self}/content`, commit: `${self}/commit`, tus: `${self}/tus` },
      }),
    );
  });
});

describe('content', () => {
  test('is streamed up, with its length', async () => {
    const bytes = randomBytes(3_000_000);
    let received: unknown;
    gateway.script.content = async (request, response) => {
      const hash = createHash('md5');
      for await (const chunk of request) hash.update(chunk as Buffer);
      received = {
        method: request.method,
        url: request.url,
        length: request.headers['content-length'],
        ticket: request.headers['kr-ticket'],
        md5: hash.digest('hex'),
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          key: 'ü.bin',
          created: '2026-11-21T06:54:43.000001Z',
          updated: '2026-11-21T06:54:43.000002Z',
          status: 'pending',
          metadata: null,
        }),
      );
    };
    const { status, body } = await ask(`${DRAFT}/%C3%BC.bin/content`, {
      method: 'PUT',
      body: bytes,
      headers: { 'content-type': 'application/octet-stream' },
    });
    const self = `${gateway.baseUrl}${DRAFT}/%C3%BC.bin`;
    expect([status, Object.entries(body), received]).toEqual([
      200,
      Object.entries({
        key: 'ü.bin',
        created: '2026-11-21 06:54:43.000001',
        updated: '2026-11-21 06:54:43.000002',
        status: 'pending',
        metadata: null,
        links: { self, content: `${self}/content`, commit: `${self}/commit`, tus: `${self}/tus` },
      }),
      {
        method: 'PUT',
        url: '/content/e7vvn-90a62/%C3%BC.bin',
        length: '3000000',
        ticket: 'e7vvn-90a62 FORM_DRAFT write_files',
        md5: createHash('md5').update(bytes).digest('hex'),
      },
    ]);
  });

  test.each([
    { body: 'short', answers: [400], received: 'aborted' },
    { body: 'of the size', answers: [200], received: 'of the size' },
    { body: 'of the size and more', answers: [200, 400], received: 'of the size' },
  ])(
    'of 11 declared bytes, sent as “$body”, is answered by $answers',
    async ({ body, answers, received }) => {
      const file = {
        key: 'a',
        created: '2026-11-21T06:54:43Z',
        updated: '2026-11-21T06:54:43Z',
        status: 'pending',
      };
      const arrived = Promise.withResolvers<void>();
      const got = Promise.withResolvers<string>();
      gateway.script.content = async (request, response) => {
        arrived.resolve();
        got.resolve(await text(request).catch(() => 'aborted'));
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(file));
      };
      const { hostname, port } = new URL(gateway.baseUrl);
      const socket = connect(Number(port), hostname);
      socket.write(
        `PUT ${DRAFT}/a/content HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${token}\r\n` +
          `content-type: application/octet-stream\r\ncontent-length: 11\r\n\r\n${body}`,
      );
      await arrived.promise;
      socket.end();
      const statuses = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) =>
        Number(status),
      );
      expect([statuses, await got.promise]).toEqual([answers, received]);
    },
  );

  test('of another type than bytes is refused before a service is called', async () => {
    const { status, body } = await ask(`${DRAFT}/a/content`, {
      method: 'PUT',
      body: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect([status, body.message]).toEqual([
      415,
      "Invalid 'Content-Type' header. Expected one of: application/octet-stream",
    ]);
  });

  test('that is refused shows the reason', async () => {
    gateway.script.content = (request, response) => {
      request.resume();
      response
        .writeHead(409, {
          'content-type': 'application/json',
          'retry-after': '1',
          'kr-error-code': 'draft_locked',
        })
        .end('{"status":409,"message":"The draft is being published."}');
    };
    const response = await gateway.fetch(`${DRAFT}/a/content`, {
      method: 'PUT',
      token,
      body: Buffer.from('x'),
    });
    expect([
      response.status,
      response.headers.get('retry-after'),
      response.headers.get('kr-error-code'),
    ]).toEqual([409, '1', null]);
    expect(await response.json()).toEqual({
      status: 409,
      message: 'The draft is being published.',
      code: 'conflict',
    });
  });

  test.each(['GET', 'PUT'])(
    'whose %s is refused is a problem document if that is accepted',
    async (method) => {
      gateway.script.content = (request, response) => {
        request.resume();
        const body =
          '{"status":409,"message":"Busy.","code":"draft_locked","errors":[{"field":"a","messages":["b"]}]}';
        response.writeHead(409, { 'content-type': 'application/json', 'retry-after': '1' }).end(body);
      };
      const response = await gateway.fetch(`${DRAFT}/a/content`, {
        method,
        token,
        headers: { accept: 'application/problem+json' },
        ...(method === 'PUT' ? { body: Buffer.from('x') } : {}),
      });
      expect([
        response.headers.get('content-type'),
        response.headers.get('retry-after'),
        await response.json(),
      ]).toEqual([
        'application/problem+json',
        '1',
        {
          type: 'about:blank',
          title: 'Conflict',
          status: 409,
          detail: 'Busy.',
          instance: expect.stringMatching(/^urn:request:/),
          code: 'draft_locked',
          errors: [{ field: 'a', messages: ['b'] }],
        },
      ]);
    },
  );

  test.each<[string, number, string, Record<string, string>, string]>([
    ['a page', 502, 'unavailable', { 'content-type': 'text/html' }, '<h1>Bad Gateway</h1>'],
    ['nothing', 503, 'unavailable', {}, ''],
    [
      'a text with the type of JSON',
      400,
      'malformed_request',
      { 'content-type': 'application/json' },
      '{"status":',
    ],
    ['JSON that is no object', 404, 'not_found', { 'content-type': 'application/json' }, 'null'],
    ['a list', 404, 'not_found', { 'content-type': 'application/json' }, '[1]'],
    [
      'words of other types',
      409,
      'conflict',
      { 'content-type': 'application/json' },
      '{"message":1,"code":{},"errors":"x"}',
    ],
    [
      'packed bytes',
      429,
      'rate_limited',
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      '\x1f\x8b',
    ],
    ['more than anybody reads', 500, 'internal', { 'content-type': 'text/plain' }, 'x'.repeat(3_000_000)],
  ])('that is refused with %s is refused with the status', async (_, status, code, headers, body) => {
    gateway.script.content = (request, response) => {
      request.resume();
      response.writeHead(status, headers).end(body);
    };
    const refused = { status, message: 'The request was refused.', code };
    for (const init of [{}, { method: 'PUT', body: Buffer.from('x') }]) {
      const response = await gateway.fetch(`${DRAFT}/a/content`, { token, ...init });
      expect([response.status, response.headers.get('content-encoding')]).toEqual([status, null]);
      expect(await response.json()).toEqual(refused);
    }
    const head = await gateway.fetch(`${DRAFT}/a/content`, { token, method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([status, '']);
  });

  test('whose refusal is aborted is refused with its status', async () => {
    gateway.script.content = (_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json', 'content-length': 1_000 });
      response.write('{"status":404,', () => response.destroy());
    };
    expect(await ask(`${DRAFT}/a/content`)).toEqual({
      status: 404,
      body: { status: 404, message: 'The request was refused.', code: 'not_found' },
    });
  });

  test('that is refused early is dropped, so that its sender receives the refusal', async () => {
    gateway.script.content = (_request, response) => {
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"status":404,"message":"no such file"}');
    };
    const size = 40_000_000;
    const { hostname, port } = new URL(gateway.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PUT ${DRAFT}/a/content HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${size}\r\n\r\n`,
    );
    // Everything is sent before anything is read.
    await new Promise((resolve) => socket.write(Buffer.alloc(size), resolve));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(answer.toString().split('\r\n')[0]).toBe('HTTP/1.1 404 Not Found');
  });

  test('whose sender goes away does not arrive whole', async () => {
    let outcome = '';
    gateway.script.content = (request) => {
      outcome = 'started';
      text(request).then(
        () => {
          outcome = 'whole';
        },
        () => {
          outcome = 'broken';
        },
      );
    };
    const { hostname, port } = new URL(gateway.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write(
      `PUT ${DRAFT}/a/content HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\nabc`,
    );
    await until(async () => outcome === 'started');
    socket.destroy();
    await until(async () => outcome !== 'started');
    expect(outcome).toBe('broken');
  });

  test('is downloaded with the headers of the files service, or a part of it', async () => {
    let conditions: unknown;
    gateway.script.content = (request, response) => {
      const { range, 'if-range': ifRange, 'kr-ticket': ticket } = request.headers;
      conditions = { range, ifRange, ticket };
      response
        .writeHead(206, {
          'content-type': 'text/plain; charset=utf-8',
          'content-range': 'bytes 0-4/11',
          'content-length': 5,
          'repr-digest': 'x',
          etag: '"md5:x"',
          'content-security-policy': "default-src 'none'; sandbox",
        })
        .end('hello');
    };
    const response = await gateway.fetch('/api/records/e7vvn-90a62/files/a/content?token=', {
      headers: { range: 'bytes=0-4', 'if-range': '"md5:x"', accept: 'application/octet-stream' },
    });
    const names = [
      'content-type',
      'content-range',
      'content-length',
      'repr-digest',
      'etag',
      'content-security-policy',
    ];
    expect([
      response.status,
      await response.text(),
      names.map((name) => response.headers.get(name)),
      conditions,
    ]).toEqual([
      206,
      'hello',
      ['text/plain; charset=utf-8', 'bytes 0-4/11', '5', 'x', '"md5:x"', "default-src 'none'; sandbox"],
      { range: 'bytes=0-4', ifRange: '"md5:x"', ticket: 'e7vvn-90a62 FORM_PUBLISHED read_files' },
    ]);
  });

  test('is announced to HEAD', async () => {
    gateway.script.content = (request, response) => {
      response.writeHead(200, { 'content-length': 11, 'x-method': String(request.method) }).end();
    };
    const response = await gateway.fetch('/api/records/x/files/a/content', { method: 'HEAD' });
    expect([
      response.status,
      response.headers.get('content-length'),
      response.headers.get('x-method'),
    ]).toEqual([200, '11', 'HEAD']);
  });

  test.each([
    ['/api/records/x/files-archive', '/archive/x', 'x FORM_PUBLISHED read_files'],
    ['/api/packages/x/files-archive', '/archive/x', 'x FORM_PUBLISHED read_files'],
    ['/api/records/x/draft/files-archive', '/archive/x', 'x FORM_DRAFT read_files'],
    ['/api/packages/x/draft/files-archive', '/archive/x', 'x FORM_DRAFT read_files'],
  ])('is one archive from %s, with the same permission as each file', async (path, url, ticket) => {
    gateway.script.packages = gateway.script.records;
    const requests: unknown[] = [];
    gateway.script.content = (request, response) => {
      requests.push([request.url, request.headers['kr-ticket'], request.headers.range]);
      response.writeHead(206, { 'content-type': 'application/zip', 'content-length': 4 }).end('PK..');
    };
    const init = { token, headers: { range: 'bytes=0-3' } };
    const response = await gateway.fetch(path, init);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      206,
      'application/zip',
      'PK..',
    ]);
    expect(requests).toEqual([[url, ticket, 'bytes=0-3']]);
    await (await gateway.fetch(path.replace('files-archive', 'files/a/content'), init)).text();
    expect(requests[1]).toEqual([expect.any(String), ticket, 'bytes=0-3']);
  });

  test('is not given all at once where single files are not', async () => {
    const path = '/api/records/x/files-archive';
    gateway.script.records = { Authorise: async () => ({ filesEnabled: false }) };
    expect((await ask(path)).body.code).toBe('files_disabled');
    gateway.script.records = {
      Authorise: async () => {
        throw new ServiceError('forbidden', 'Permission denied.');
      },
    };
    expect(await ask(path)).toEqual({
      status: 403,
      body: { status: 403, message: 'Permission denied.', code: 'forbidden' },
    });
    const anonymous = await gateway.fetch('/api/records/x/draft/files-archive');
    expect(anonymous.status).toBe(401);
  });

  test('that is aborted during the download does not look complete', async () => {
    gateway.script.content = (_request, response) => {
      response.writeHead(200, { 'content-length': 10_000 });
      response.write('x'.repeat(100), () => response.destroy());
    };
    const response = await gateway.fetch('/api/records/x/files/a/content');
    await expect(response.text()).rejects.toThrow();
  });

  test('is paused while its client does not read', async () => {
    let written = 0;
    let isOpen = true;
    gateway.script.content = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      response.once('close', () => {
        isOpen = false;
      });
      const chunk = Buffer.alloc(65_536);
      const write = () => {
        while (isOpen && written < 200_000_000) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
    };
    const { hostname, port } = new URL(gateway.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.write('GET /api/records/x/files/a/content HTTP/1.1\r\nHost: h\r\n\r\n');
    socket.pause();
    await until(async () => {
      const before = written;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return written > 0 && written === before;
    });
    expect(written).toBeLessThan(50_000_000);
    socket.destroy();
    await until(async () => !isOpen);
  });

  test('is unavailable while the files service is', async () => {
    gateway.script.content = (request) => request.socket.destroy();
    const { status, body } = await ask('/api/records/x/files/a/content');
    expect([status, body]).toEqual([
      503,
      { status: 503, message: 'The files service is not available.', code: 'unavailable' },
    ]);
  });
});

test('what the entity’s service refuses is the answer', async () => {
  gateway.script.records = {
    Authorise: async () => {
      throw new ServiceError('forbidden', 'Permission denied.');
    },
  };
  expect(await ask(`${DRAFT}/a/content`)).toEqual({
    status: 403,
    body: { status: 403, message: 'Permission denied.', code: 'forbidden' },
  });
});

describe('a resumable upload', () => {
  test.each<[string, Record<string, string>]>([
    ['another length', { 'upload-length': '6' }],
    ['another first chunk', { 'upload-checksum': 'md5 1B2M2Y8AsgTpgAmY7PhCfg==' }],
  ])('of %s is not started under the key of the one before', async (_, change) => {
    let started = 0;
    gateway.script.content = async (request, response) => {
      request.resume();
      started += 1;
      response.writeHead(201, { location: `/uploads/e7vvn-90a62/a/upload-${started}` }).end();
    };
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-length': '5',
      'idempotency-key': `length, then ${Object.keys(change)}`,
    };
    const post = (more = {}) => ask(`${DRAFT}/a/tus`, { method: 'POST', headers: { ...headers, ...more } });
    const answers = [await post(), await post(), await post(change)];
    expect([answers.map(({ status }) => status), started]).toEqual([[201, 201, 422], 1]);
  });
});
