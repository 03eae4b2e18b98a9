import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { aDocument, type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';
import { exchange } from '../raw-exchange-fixture.ts';

let gateway: GatewayUnderTest;
let token: string;
beforeAll(async () => {
  // Otherwise a host that is none would be noticed for the links' sake.
  gateway = await startGateway({ PUBLIC_BASE_URL: 'https://hub.example.org' });
  ({ token } = await gateway.createUser('ada'));
});
afterAll(() => gateway.stop());

const send = (bytes: string): Promise<string> => exchange(gateway.baseUrl, bytes);

const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Would be answered, if the bytes before it were taken for anything whole. */
const NEXT = 'GET /api/ping HTTP/1.1\r\nHost: h\r\n\r\n';
const POST = 'POST /api/records HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer TOKEN\r\n';
const GET = 'GET /api/ping HTTP/1.1\r\nHost: h\r\n';

const PROBES: readonly { name: string; bytes: string; status?: number }[] = [
  {
    name: 'a length and chunks',
    bytes: `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX`,
  },
  {
    name: 'chunks and a length',
    bytes: `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  },
  { name: 'two lengths', bytes: `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello` },
  { name: 'the same length twice', bytes: `${POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello` },
  { name: 'two lengths in one header', bytes: `${POST}Content-Length: 5, 5\r\n\r\nhello` },
  { name: 'a signed length', bytes: `${POST}Content-Length: +5\r\n\r\nhello` },
  { name: 'a negative length', bytes: `${POST}Content-Length: -5\r\n\r\nhello` },
  { name: 'a hexadecimal length', bytes: `${POST}Content-Length: 0x5\r\n\r\nhello` },
  {
    name: 'a length beyond all numbers',
    bytes: `${POST}Content-Length: 99999999999999999999999\r\n\r\nhello`,
  },
  { name: 'an empty length', bytes: `${POST}Content-Length: \r\n\r\nhello` },
  { name: 'another transfer coding', bytes: `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n` },
  { name: 'a coding after chunks', bytes: `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n` },
  {
    name: 'two transfer codings',
    bytes: `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n`,
  },
  {
    name: 'a coding with a control character',
    bytes: `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
  },
  {
    name: 'a space before the colon of the coding',
    bytes: `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  },
  { name: 'a space before the colon of the length', bytes: `${POST}Content-Length : 5\r\n\r\nhello` },
  { name: 'a header without a name', bytes: `${GET}: nothing\r\n\r\n` },
  { name: 'a header without a colon', bytes: `${GET}nothing\r\n\r\n` },
  { name: 'a folded header', bytes: `${GET}X-One: 1\r\n 2\r\n\r\n` },
  { name: 'a folded coding', bytes: `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n` },
  { name: 'headers that begin with a space', bytes: 'GET /api/ping HTTP/1.1\r\n Host: h\r\n\r\n' },
  { name: 'a bare line feed', bytes: 'GET /api/ping HTTP/1.1\nHost: h\n\n' },
  { name: 'a bare line feed after a header', bytes: `${GET}X-One: 1\nX-Two: 2\r\n\r\n` },
  { name: 'a bare carriage return', bytes: `${GET}X-One: 1\rX-Two: 2\r\n\r\n` },
  { name: 'a null character in a value', bytes: `${GET}X-One: a\0b\r\n\r\n` },
  { name: 'a null character in a name', bytes: `${GET}X-O\0ne: a\r\n\r\n` },
  { name: 'a null character in the address', bytes: 'GET /api/\0ping HTTP/1.1\r\nHost: h\r\n\r\n' },
  { name: 'a space in the address', bytes: 'GET /api/ping x HTTP/1.1\r\nHost: h\r\n\r\n' },
  { name: 'no host', bytes: 'GET /api/ping HTTP/1.1\r\n\r\n' },
  { name: 'two hosts', bytes: `${GET}Host: other\r\n\r\n` },
  {
    name: 'a host that is none',
    bytes: 'GET /api/records HTTP/1.1\r\nHost: h/../x\r\nConnection: close\r\n\r\n',
  },
  { name: 'an unknown expectation', bytes: `${GET}Expect: wonders\r\n\r\n`, status: 417 },
  { name: 'another protocol', bytes: 'GET /api/ping SPDY/3\r\nHost: h\r\n\r\n' },
  { name: 'another version', bytes: 'GET /api/ping HTTP/1.2\r\nHost: h\r\n\r\n' },
  { name: 'version 2', bytes: 'GET /api/ping HTTP/2.0\r\nHost: h\r\n\r\n', status: 505 },
  { name: 'an absolute target without host', bytes: 'GET http:///api/ping HTTP/1.1\r\nHost: h\r\n\r\n' },
  { name: 'no version', bytes: 'GET /api/ping\r\n\r\n' },
  { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'a method in small letters', bytes: 'get /api/ping HTTP/1.1\r\nHost: h\r\n\r\n' },
  { name: 'a method that is none', bytes: 'G(T /api/ping HTTP/1.1\r\nHost: h\r\n\r\n' },
  { name: 'TLS', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' },
  {
    name: 'a chunk whose size is none',
    bytes: `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`,
  },
  {
    name: 'a chunk that is longer than declared',
    bytes: `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
  },
  {
    name: 'chunks parted by bare line feeds',
    bytes: `${POST}Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n`,
  },
  {
    name: 'a giant chunk extension',
    bytes: `${POST}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\nh\r\n0\r\n\r\n`,
    status: 413,
  },
  { name: 'a header of 17 KB', bytes: `${GET}X-Long: ${'x'.repeat(17_408)}\r\n\r\n`, status: 431 },
  { name: '2,500 headers', bytes: `${GET}${'X-H: 1\r\n'.repeat(2_500)}\r\n`, status: 431 },
  { name: '101 headers', bytes: `${GET}${'X-H: 1\r\n'.repeat(101)}\r\n`, status: 431 },
  {
    name: 'an address over 8 KiB',
    bytes: `GET /${'x'.repeat(8_192)} HTTP/1.1\r\nHost: h\r\n\r\n`,
    status: 414,
  },
  {
    name: 'an address over 16 KiB',
    bytes: `GET /${'x'.repeat(16_384)} HTTP/1.1\r\nHost: h\r\n\r\n`,
    status: 431,
  },
];

describe('a request', () => {
  test.each(PROBES)('with $name is refused, once, and nothing after it is answered', async (probe) => {
    const answer = await send(probe.bytes.replace('TOKEN', token) + NEXT);
    expect([probe.name, statuses(answer), answer]).toEqual([probe.name, [probe.status ?? 400], answer]);
  });

  test('whose body is aborted is refused once, also when it was answered before', async () => {
    const bytes = POST.replace(/Authorization.*\r\n/, 'Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n');
    expect(statuses(await send(bytes + NEXT))).toEqual([401]);
  });

  test('that is malformed after a good one leaves that its answer', async () => {
    expect(statuses(await send(`${GET}\r\n${GET}X-One : 1\r\n\r\n${NEXT}`))).toEqual([200, 400]);
  });

  test('with two hosts is not answered from the cache either', async () => {
    gateway.script.records.ReadEntities = async ({ refs }) => ({
      results: refs.map((ref) => ({ ref, document: aDocument({ form: 'FORM_PUBLISHED' }) })),
    });
    const path = '/api/records/e7vvn-90a62';
    expect([(await gateway.fetch(path)).status, (await gateway.fetch(path)).status]).toEqual([200, 200]);
    const read = `GET ${path} HTTP/1.1\r\nHost: h\r\nHost: other\r\n\r\n`;
    expect(statuses(await send(read + NEXT))).toEqual([400]);
  });

  test.each([
    ['GET /api/ping HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    [`${GET}Expect: wonders\r\n\r\n`, 417, 'expectation_failed'],
    ['GET /api/ping HTTP/2.0\r\nHost: h\r\n\r\n', 505, 'http_version_not_supported'],
  ])('%j is refused by the application, with its headers', async (bytes, status, code) => {
    const [head = '', body = ''] = (await send(bytes)).split('\r\n\r\n');
    expect(statuses(head)).toEqual([status]);
    expect(head.toLowerCase()).toContain('x-content-type-options: nosniff');
    expect(head.toLowerCase()).toContain('x-request-id: ');
    expect(JSON.parse(body)).toMatchObject({ status, code });
  });

  test('of HTTP/1.0 needs no host', async () => {
    expect(statuses(await send('GET /api/ping HTTP/1.0\r\n\r\n'))).toEqual([200]);
  });

  test('with an absolute target is for the host of the target', async () => {
    await using other = await startGateway();
    const document = async (target: string) => {
      const answer = await exchange(
        other.baseUrl,
        `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
      );
      return answer.split('\r\n\r\n').slice(1).join('');
    };
    expect(await document('/api/openapi.json')).toContain('http://h');
    const absolute = await document('http://named.example/api/openapi.json?prettyprint=1');
    expect(absolute).toContain('http://named.example');
    expect(absolute).not.toContain('http://h/');
  });

  test('that is malformed gets the reason, with the headers of every answer', async () => {
    const [head = '', body = ''] = (await send(`${GET}X-One: a\0b\r\n\r\n`)).split('\r\n\r\n');
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]);
    expect([JSON.parse(body), names]).toEqual([
      {
        status: 400,
        message: 'The request is not valid HTTP: Invalid header value char.',
        code: 'malformed_request',
      },
      [
        'connection',
        'content-type',
        'content-length',
        'date',
        'x-request-id',
        'content-security-policy',
        'referrer-policy',
        'x-content-type-options',
        'x-frame-options',
        'vary',
      ],
    ]);
  });
});
