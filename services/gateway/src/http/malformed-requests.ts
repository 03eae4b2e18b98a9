import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from '@kr/telemetry';
import type { HttpLimits } from '../config.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

export interface MalformedRequestsDeps {
  limits: Pick<HttpLimits, 'headerMaxBytes'>;
  logger: Logger;
  newId: () => string;
}

/** What Node says of bytes that its parser does not take. */
interface ParseError extends Error {
  code?: string;
  reason?: string;
}

interface Refusal {
  status: number;
  message: string;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Answers what is no request, so that no application ever sees it, and ends the connection: nobody can say where the
 * next request would begin. Requests that were whole before it are answered first.
 */
export function refuseMalformedRequests(
  server: Server,
  { limits, logger, newId }: MalformedRequestsDeps,
): void {
  const latest = new WeakMap<Duplex, Exchange>();
  server.on('request', (request, response) => latest.set(request.socket, { request, response }));

  const refuse = (error: ParseError, socket: Duplex): void => {
    const { status, message } = refusalOf(error, limits);
    const requestId = newId();
    logger.info({ request_id: requestId, status, reason: error.code }, 'malformed request');
    socket.end(written({ status, message }, requestId), () => socket.destroy());
  };

  const seen = new WeakSet<Duplex>();
  server.on('clientError', (error: ParseError, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
    // What comes after the end of sense makes none either.
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

function refusalOf(
  { code, reason }: ParseError,
  { headerMaxBytes }: MalformedRequestsDeps['limits'],
): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        message: `The request line and headers are longer than ${headerMaxBytes} bytes.`,
      };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, message: 'The extensions of a chunk are too long.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, message: 'The request did not arrive in time.' };
    default:
      return { status: 400, message: `The request is not valid HTTP${reason ? `: ${reason}` : ''}.` };
  }
}

function written({ status, message }: Refusal, requestId: string): string {
  const body = JSON.stringify({ status, message });
  const headers = [
    ['connection', 'close'],
    ['content-type', 'application/json'],
    ['content-length', Buffer.byteLength(body)],
    ['date', new Date().toUTCString()],
    ['x-request-id', requestId],
    ...SECURITY_HEADERS,
  ];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head}\r\n${body}`;
}
