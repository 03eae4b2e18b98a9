import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { type ConfirmEnd, passOn, release } from '@kr/byte-relay';
import { ServiceError } from '@kr/service-error';
import { HttpProblem, type ProblemDetails } from '../http/http-problem.ts';
import { isObject } from '../http/json-object.ts';
import { watchAccess } from './watch-access.ts';

/** Milliseconds of silence after which TCP keep-alive probes start. */
const PROBE_AFTER_MS = 10_000;

/**
 * Aborts a request, and its answer if that has begun, after `idleMs` milliseconds without progress of the upstream side: connecting,
 * reading, answering, sending. Slow clients on this side do not count.
 */
export function abortOnStall(
  outgoing: ClientRequest,
  { idleMs, error }: { idleMs: number; error: () => Error },
): void {
  let incoming: IncomingMessage | undefined;
  outgoing.once('response', (answer) => {
    incoming = answer;
  });
  const isTheirTurn = () =>
    incoming === undefined
      ? outgoing.writableEnded || outgoing.writableNeedDrain
      : !incoming.complete && incoming.readableLength === 0;

  outgoing.once('socket', (socket) => {
    const onTimeout = () => {
      if (socket.connecting || isTheirTurn()) (incoming ?? outgoing).destroy(error());
      else socket.setTimeout(idleMs);
    };
    socket.setKeepAlive(true, PROBE_AFTER_MS).setTimeout(idleMs).on('timeout', onTimeout);
    outgoing.once('close', () => socket.off('timeout', onTimeout).setTimeout(0));
  });
}

/** One request about the bytes of one file, or of all. */
export interface ContentRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** The bytes as they are, resumable uploads of them, or all files as one. */
  endpoint: 'content' | 'uploads' | 'archive';
  entityId: string;
  /** Of one file. */
  key?: string;
  /** One of the uploads. */
  uploadId?: string;
  /** Requests without a ticket read public files. */
  ticket?: string;
  headers: Record<string, string>;
  /**
   * Of a client's request. It is never destroyed here, so that a client that sends its whole body before
   * reading receives the answer.
   */
  body?: Readable;
  signal?: AbortSignal;
  /** Checks credentials and permission again while the transfer runs, and before its last bytes are sent. */
  recheck?: () => Promise<void>;
}

export interface ContentAnswer {
  status: number;
  /** Without hop-by-hop headers. */
  headers: Record<string, string | string[]>;
  body: Readable;
}

/** The HTTP interface of the files service, where bytes are streamed. */
export interface ContentPlane {
  /**
   * Resolves also for refusals of the files service.
   * @throws ServiceError `unavailable`: it cannot be reached, or makes no progress; a body that was aborted for this throws an error that
   * `asUnavailable` accepts
   */
  request(request: ContentRequest): Promise<ContentAnswer>;
  close(): void;
}

const COME_BACK_MS = 1_000;
const NOT_RELAYED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'kr-error-code']);

export interface ContentPlaneOptions {
  /** For how many milliseconds the files service may do nothing while it has something to do. */
  idleMs: number;
  /** Milliseconds between two authorisations of a running transfer. */
  recheckMs: number;
}

/** A transfer may take any time as long as it progresses. Their number is limited at admission. */
export function openContentPlane(baseUrl: URL, { idleMs, recheckMs }: ContentPlaneOptions): ContentPlane {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 16 });
  const { protocol, hostname, port } = urlToHttpOptions(baseUrl);
  const root = baseUrl.pathname.replace(/\/+$/, '');

  const send = (wanted: ContentRequest, isRepeat = false): Promise<ContentAnswer> =>
    new Promise((resolve, reject) => {
      const { method, ticket, headers, body, signal, recheck } = wanted;
      const isRepeatable = body === undefined && method !== 'POST';
      const outgoing = request({
        // A request that cannot be repeated uses a fresh connection, since an idle one may be closing. It
        // does not send `Connection: close`, because the reset after an early answer could overtake the
        // answer.
        agent: isRepeatable ? agent : false,
        protocol,
        hostname,
        port,
        path: `${root}${pathOf(wanted)}`,
        method,
        headers: {
          ...headers,
          ...(ticket === undefined ? {} : { 'kr-ticket': ticket }),
          connection: 'keep-alive',
        },
        ...(signal === undefined ? {} : { signal }),
      });
      releaseWhenParsed(outgoing);
      abortOnStall(outgoing, { idleMs, error: () => silent(idleMs) });
      let incoming: IncomingMessage | undefined;
      const access =
        recheck &&
        watchAccess({
          everyMs: recheckMs,
          check: recheck,
          refuse: (reason) => (incoming ?? outgoing).destroy(reason),
        });
      outgoing.once('close', () => access?.stop());
      outgoing.on('error', (cause) => {
        const isBrokenOff = cause instanceof ServiceError || signal?.aborted === true;
        const isStale = outgoing.reusedSocket && isRepeatable && !isRepeat && !isBrokenOff;
        if (isStale) send(wanted, true).then(resolve, reject);
        else reject(asUnavailable(cause));
      });
      outgoing.once('response', (answer) => {
        incoming = answer;
        // Answered before all was sent: the rest is not wanted.
        answer.once('close', () => {
          if (!outgoing.writableFinished) outgoing.destroy();
        });
        const { statusCode = 502, headers: answered } = answer;
        resolve({ status: statusCode, headers: relayed(answered), body: answer });
      });
      if (body === undefined) {
        outgoing.end();
        return;
      }
      // Requests that are refused by their headers, for example by length, are refused before their body is
      // sent.
      outgoing.flushHeaders();
      sendBody(body, outgoing, access && { totalBytes: lengthOf(headers), confirm: access.confirm });
    });

  return { request: (wanted) => send(wanted), close: () => agent.destroy() };
}

/** The parser copies the body out of the socket's buffer, which is free afterwards. */
function releaseWhenParsed(outgoing: ClientRequest): void {
  outgoing.once('socket', (socket) => {
    socket.on('data', release);
    outgoing.once('close', () => socket.off('data', release));
  });
}

function sendBody(body: Readable, outgoing: ClientRequest, confirmEnd: ConfirmEnd | undefined): void {
  const breakOff = () => {
    if (!body.readableEnded) outgoing.destroy(new Error('the client disconnected'));
  };
  body.on('error', breakOff).once('close', breakOff);
  // The client may have gone while it was decided what it may do.
  if (body.destroyed) breakOff();
  else passOn(body, outgoing, confirmEnd && { confirmEnd });
}

function lengthOf(headers: Record<string, string>): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

function pathOf({ endpoint, entityId, key, uploadId }: ContentRequest): string {
  const parts = [endpoint, entityId, key, uploadId].filter((part) => part !== undefined);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** The error that aborted a request, or the body of its answer, as a message for the client. */
export function asUnavailable(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  return new ServiceError('unavailable', 'The files service is not available.', {
    retryAfterMs: COME_BACK_MS,
    cause,
  });
}

function silent(idleMs: number): ServiceError {
  const message = `The files service made no progress for ${idleMs} ms.`;
  return new ServiceError('unavailable', message, { retryAfterMs: COME_BACK_MS });
}

function relayed(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_RELAYED.has(name)) kept[name] = value;
  }
  return kept;
}

/** Longer than any refusal of the files service. */
const MOST_BYTES = 1_048_576;

/**
 * A refusal of the files service as an error of the gateway, rendered in the requested format. A refusal in another format, from a
 * proxy in between, is classified by its status.
 */
export async function contentRefusal({ status, headers, body }: ContentAnswer): Promise<HttpProblem> {
  // Headers that describe the refusal's own body, which is replaced.
  const kept = Object.entries(headers).filter(
    ([name]) => name === 'content-range' || !name.startsWith('content-'),
  );
  const passed = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
  const errorBody = errorBodyIn(await readSome(body));
  const message =
    typeof errorBody['message'] === 'string' ? errorBody['message'] : 'The request was refused.';
  return new HttpProblem(status, message, passed, detailsOf(errorBody));
}

function detailsOf({ code, hint, errors }: Record<string, unknown>): ProblemDetails {
  return {
    code: typeof code === 'string' ? code : undefined,
    hint: typeof hint === 'string' ? hint : undefined,
    errors: Array.isArray(errors) ? errors.filter(isObject) : undefined,
  };
}

/** An answer to HEAD has no body. */
function errorBodyIn(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** The start of a body, up to a limit. */
async function readSome(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
      chunks.push(chunk);
    }
  } catch {
    // The status was sent and cannot change.
  }
  return Buffer.concat(chunks).toString();
}
