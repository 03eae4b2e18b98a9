import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@kr/telemetry';
import type { HttpLimits } from '../config.ts';
import { errorAnswer } from '../http/error-response.ts';
import { SECURITY_HEADERS } from '../http/headers.ts';
import { HttpProblem } from '../http/http-problem.ts';
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

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Answers invalid HTTP before it reaches the application, and closes the connection, because the start of the next request is
 * unknown. Complete requests before it are answered first.
 */
export function refuseMalformedRequests(server: Server, deps: MalformedRequestsDeps): void {
  const latest = new WeakMap<Duplex, Exchange>();
  server.on('request', (request, response) => latest.set(request.socket, { request, response }));

  const seen = new WeakSet<Duplex>();
  server.on('clientError', (error: ParseError, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    // Bytes after an invalid request are invalid as well.
    if (seen.has(socket)) return;
    seen.add(socket);
    const refuse = () => socket.end(refusal(error, socket, deps), () => socket.destroy());
    const exchange = latest.get(socket);
    if (exchange === undefined) return void refuse();
    const { request, response } = exchange;
    // The request that is malformed is that one, which may have been answered for its headers alone.
    if (!request.complete && response.headersSent) socket.end(() => socket.destroy());
    else if (!request.complete || response.writableFinished) refuse();
    else response.once('finish', refuse);
  });
}

/** The whole answer. The request counts for its address like any other. */
function refusal(
  error: ParseError,
  socket: Duplex,
  { limits, logger, newId, rateLimits }: MalformedRequestsDeps,
): string {
  const headers = new Map<string, string | number>();
  const sink = { setHeader: (name: string, value: string | number) => headers.set(name, value) };
  let problem: unknown = problemOf(error, limits);
  try {
    // An HTTP server gets no other sockets.
    rateLimits.count({ socket: socket as Socket, headers: {} }, sink, { userId: null, cost: 'one' });
  } catch (thrown) {
    problem = thrown;
  }
  const { status, headers: further, body } = errorAnswer(problem);
  const requestId = newId();
  // A client can send any number of them.
  logger.debug({ request_id: requestId, status, reason: error.code }, 'malformed request');
  const text = JSON.stringify(body);
  const lines = [
    ['connection', 'close'],
    ['content-type', 'application/json'],
    ['content-length', Buffer.byteLength(text)],
    ['date', new Date().toUTCString()],
    ['x-request-id', requestId],
    ...headers,
    ...Object.entries(further),
    ...SECURITY_HEADERS,
  ].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`;
}

function problemOf(
  { code, reason }: ParseError,
  { headerMaxBytes }: MalformedRequestsDeps['limits'],
): HttpProblem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new HttpProblem(431, `The request line and headers are longer than ${headerMaxBytes} bytes.`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new HttpProblem(413, 'The extensions of a chunk are too long.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpProblem(408, 'The request did not arrive in time.');
    default:
      return new HttpProblem(400, `The request is not valid HTTP${reason ? `: ${reason}` : ''}.`);
  }
}
