import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@kr/telemetry';
import type { HttpLimits } from '../config.ts';
import type { Origin } from '../http/client-address.ts';
import { codeOfStatus, errorAnswer } from '../http/error-response.ts';
import { SECURITY_HEADERS } from '../http/headers.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';

export interface MalformedRequestsDeps {
  limits: Pick<HttpLimits, 'headerMaxBytes'>;
  logger: Logger;
  newId: () => string;
  rateLimits: Pick<RateLimits, 'count'>;
}

/** The error code of Node's parser for bytes that it rejects. */
interface ParseError extends Error {
  code?: string;
  reason?: string;
}

interface Refusal {
  status: number;
  body: object;
  headers: ReadonlyMap<string, string | number>;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Answers invalid HTTP before it reaches the application, and closes the connection, because the start of the next request is
 * unknown. Complete requests before it are answered first.
 */
export function refuseMalformedRequests(
  server: Server,
  { limits, logger, newId, rateLimits }: MalformedRequestsDeps,
): void {
  const latest = new WeakMap<Duplex, Exchange>();
  server.on('request', (request, response) => latest.set(request.socket, { request, response }));

  /** It counts for its address as any other request does. */
  const counted = (error: ParseError, origin: Origin): Refusal => {
    const headers = new Map<string, string | number>();
    const sink = { setHeader: (name: string, value: string | number) => headers.set(name, value) };
    try {
      rateLimits.count(origin, sink, { userId: null, cost: 'one' });
      return { ...refusalOf(error, limits), headers };
    } catch (thrown) {
      const answer = errorAnswer(thrown);
      return { ...answer, headers: new Map([...headers, ...Object.entries(answer.headers)]) };
    }
  };

  const refuse = (error: ParseError, socket: Duplex): void => {
    // An HTTP server gets no other sockets.
    const refusal = counted(error, { socket: socket as Socket, headers: {} });
    const requestId = newId();
    const { status } = refusal;
    // A client can send any number of them.
    logger.debug({ request_id: requestId, status, reason: error.code }, 'malformed request');
    socket.end(written(refusal, requestId), () => socket.destroy());
  };

  const seen = new WeakSet<Duplex>();
  server.on('clientError', (error: ParseError, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    // Bytes after an invalid request are invalid as well.
    if (seen.has(socket)) return;
    seen.add(socket);
    const exchange = latest.get(socket);
    if (exchange === undefined) return refuse(error, socket);
    const { request, response } = exchange;
    // The request that is malformed is that one, which may have been answered for its headers alone.
    if (!request.complete && response.headersSent) socket.end(() => socket.destroy());
    else if (!request.complete || response.writableFinished) refuse(error, socket);
    else response.once('finish', () => refuse(error, socket));
  });
}

function refusalOf(error: ParseError, limits: MalformedRequestsDeps['limits']): Omit<Refusal, 'headers'> {
  const [status, message] = reasonOf(error, limits);
  return { status, body: { status, message, code: codeOfStatus(status) } };
}

function reasonOf(
  { code, reason }: ParseError,
  { headerMaxBytes }: MalformedRequestsDeps['limits'],
): [status: number, message: string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, `The request line and headers are longer than ${headerMaxBytes} bytes.`];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'The extensions of a chunk are too long.'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'The request did not arrive in time.'];
    default:
      return [400, `The request is not valid HTTP${reason ? `: ${reason}` : ''}.`];
  }
}

function written({ status, body, headers }: Refusal, requestId: string): string {
  const text = JSON.stringify(body);
  const all = [
    ['connection', 'close'],
    ['content-type', 'application/json'],
    ['content-length', Buffer.byteLength(text)],
    ['date', new Date().toUTCString()],
    ['x-request-id', requestId],
    ...headers,
    ...SECURITY_HEADERS,
  ];
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${text}`;
}
