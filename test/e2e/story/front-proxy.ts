import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

export interface FrontProxy {
  baseUrl: string;
  /** How many files it has sent by itself. */
  sent(): number;
  stop(): Promise<void>;
}

/** The headers that nginx keeps of an answer with X-Accel-Redirect; its location must add all others. */
const KEPT = ['content-type', 'content-disposition', 'cache-control', 'expires', 'set-cookie'];

/**
 * Replaces nginx with `docs/nginx.conf`, and handles X-Accel-Redirect like nginx: it drops the
 * headers that the file's location does not add, and sends the file, or the one requested range of it.
 */
export async function startFrontProxy(gateway: string, filesDir: string): Promise<FrontProxy> {
  const { location, added, said } = await sampleConfiguration();
  let sent = 0;

  const sendFile = async (asked: IncomingMessage, answer: IncomingMessage, response: ServerResponse) => {
    const uri = String(answer.headers['x-accel-redirect']);
    if (!uri.startsWith(location) || uri.includes('..')) return void response.writeHead(404).end();
    sent += 1;
    const path = join(filesDir, uri.slice(location.length));
    const { size } = await stat(path);
    response.setHeaders(new Map(Object.entries(keptHeaders(answer.headers, added))));
    response.setHeader('accept-ranges', 'bytes');
    const range = rangeOf(asked.headers.range, size);
    if (range !== undefined) response.setHeader('content-range', `bytes ${range.start}-${range.end}/${size}`);
    const part = range ?? { start: 0, end: size - 1 };
    response.setHeader('content-length', part.end - part.start + 1);
    response.writeHead(range === undefined ? (answer.statusCode ?? 502) : 206);
    if (size === 0) return void response.end();
    await pipeline(createReadStream(path, part), response);
  };
  const answered = async (asked: IncomingMessage, answer: IncomingMessage, response: ServerResponse) => {
    if (answer.headers['x-accel-redirect'] !== undefined) {
      answer.resume();
      return sendFile(asked, answer, response);
    }
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    await pipeline(answer, response);
  };
  const server = createServer((asked, response) => {
    const headers = {
      ...asked.headers,
      'x-forwarded-host': asked.headers.host ?? '',
      'x-forwarded-proto': 'http',
      ...said,
    };
    const outgoing = httpRequest(`${gateway}${asked.url}`, { method: asked.method ?? 'GET', headers });
    outgoing.on('error', () => response.destroy());
    outgoing.on(
      'response',
      (answer) => void answered(asked, answer, response).catch(() => response.destroy()),
    );
    asked.pipe(outgoing);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/**
 * The internal location of the sample configuration, the headers that it adds from the gateway's answer, and
 * the headers that it sends to the gateway.
 */
async function sampleConfiguration(): Promise<{
  location: string;
  added: Map<string, string>;
  said: Record<string, string>;
}> {
  const text = await readFile(resolve(import.meta.dirname, '../../../docs/nginx.conf'), 'utf8');
  const { path, body } = /location (?<path>\S+) \{\s+internal;(?<body>[^}]*)\}/.exec(text)?.groups ?? {};
  if (path === undefined || body === undefined) throw new Error('docs/nginx.conf has no internal location');
  const told = text.matchAll(/proxy_set_header (\S+) ([\w-]+);/g);
  const lines = body.matchAll(/add_header (\S+) \$upstream_http_(\w+);/g);
  return {
    location: path,
    said: Object.fromEntries([...told].map(([, name = '', value = '']) => [name.toLowerCase(), value])),
    added: new Map([...lines].map(([, to = '', from = '']) => [to.toLowerCase(), from.replaceAll('_', '-')])),
  };
}

function keptHeaders(told: IncomingHttpHeaders, added: Map<string, string>): Record<string, string> {
  const names = [...KEPT.map((name) => [name, name] as const), ...added];
  return Object.fromEntries(
    names.flatMap(([to, from]) => (told[from] === undefined ? [] : [[to, String(told[from])]])),
  );
}

function rangeOf(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size - 1 };
  return { start: Number(first), end: Math.min(size - 1, last === '' ? size - 1 : Number(last)) };
}
