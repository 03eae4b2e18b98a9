import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { type ConfirmEnd, pipeReleasing, release } from '@kr/byte-relay';
import { ServiceError } from '@kr/service-error';
import { watchAccess } from './watch-access.ts';

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
  /** Without the headers that end with a connection. */
  headers: Record<string, string | string[]>;
  body: Readable;
}

/** The HTTP interface of the files service, where bytes are streamed. */
export interface ContentClient {
  /**
   * Resolves also for refusals of the files service.
   * @throws ServiceError `unavailable`: it cannot be reached, or makes no progress; a body that was aborted for this throws an error that
   * `asUnavailable` accepts
   */
  request(request: ContentRequest): Promise<ContentAnswer>;
  close(): void;
}

const RETRY_AFTER_MS = 1_000;
const NOT_RELAYED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'kr-error-code']);

export interface ContentClientOptions {
  /** Stall timeout in milliseconds: how long the files service may make no progress while the gateway waits for it. */
  idleMs: number;
  /** Milliseconds between two authorisations of a running transfer. */
  recheckMs: number;
}

/** A transfer may take any time as long as it progresses. `ConcurrencyLimit` limits their number. */
export function openContentClient(baseUrl: URL, { idleMs, recheckMs }: ContentClientOptions): ContentClient {
  // The same delay as in `abortOnStall`: sockets that change it cost two system calls per request.
  const agent = new Agent({ keepAlive: true, keepAliveMsecs: PROBE_AFTER_MS, maxFreeSockets: 16 });
  const { protocol, hostname, port } = urlToHttpOptions(baseUrl);
  const root = baseUrl.pathname.replace(/\/+$/, '');

  const send = (sent: ContentRequest, isRepeat = false): Promise<ContentAnswer> =>
    new Promise((resolve, reject) => {
      const { method, ticket, headers, body, signal, recheck } = sent;
      const isRepeatable = body === undefined && method !== 'POST';
      const outgoing = request({
        // A request that cannot be repeated uses a fresh connection, since an idle one may be closing. It
        // does not send `Connection: close`, because the reset after an early answer could overtake the
        // answer.
        agent: isRepeatable ? agent : false,
        protocol,
        hostname,
        port,
        path: `${root}${pathOf(sent)}`,
        method,
        headers: {
          ...headers,
          ...(ticket === undefined ? {} : { 'kr-ticket': ticket }),
          connection: 'keep-alive',
        },
        ...(signal === undefined ? {} : { signal }),
      });
      releaseWhenParsed(outgoing);
      abortOnStall(outgoing, { idleMs, error: () => stalled(idleMs) });
      let incoming: IncomingMessage | undefined;
      const access =
        recheck &&
        watchAccess({
          everyMs: recheckMs,
          check: recheck,
          abort: (reason) => (incoming ?? outgoing).destroy(reason),
        });
      outgoing.once('close', () => access?.stop());
      outgoing.on('error', (cause) => {
        const isAborted = cause instanceof ServiceError || signal?.aborted === true;
        const isStale = outgoing.reusedSocket && isRepeatable && !isRepeat && !isAborted;
        if (isStale) send(sent, true).then(resolve, reject);
        else reject(asUnavailable(cause));
      });
      outgoing.once('response', (answer) => {
        incoming = answer;
        // Answered before all was sent: the rest is not needed.
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

  return { request: (sent) => send(sent), close: () => agent.destroy() };
}

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
  const isUpstreamTurn = () =>
    incoming === undefined
      ? outgoing.writableEnded || outgoing.writableNeedDrain
      : !incoming.complete && incoming.readableLength === 0;

  outgoing.once('socket', (socket) => {
    const onTimeout = () => {
      if (socket.connecting || isUpstreamTurn()) (incoming ?? outgoing).destroy(error());
      else socket.setTimeout(idleMs);
    };
    socket.setKeepAlive(true, PROBE_AFTER_MS).setTimeout(idleMs).on('timeout', onTimeout);
    outgoing.once('close', () => socket.off('timeout', onTimeout).setTimeout(0));
  });
}

/** The parser copies the body out of the socket's buffer, which is free afterwards. */
function releaseWhenParsed(outgoing: ClientRequest): void {
  outgoing.once('socket', (socket) => {
    socket.on('data', release);
    outgoing.once('close', () => socket.off('data', release));
  });
}

function sendBody(body: Readable, outgoing: ClientRequest, confirmEnd: ConfirmEnd | undefined): void {
  const abort = () => {
    if (!body.readableEnded) outgoing.destroy(new Error('the client disconnected'));
  };
  body.on('error', abort).once('close', abort);
  // The client may have disconnected during the authorisation.
  if (body.destroyed) abort();
  else pipeReleasing(body, outgoing, confirmEnd && { confirmEnd });
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
    retryAfterMs: RETRY_AFTER_MS,
    cause,
  });
}

function stalled(idleMs: number): ServiceError {
  const message = `The files service made no progress for ${idleMs} ms.`;
  return new ServiceError('unavailable', message, { retryAfterMs: RETRY_AFTER_MS });
}

function relayed(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_RELAYED.has(name)) passed[name] = value;
  }
  return passed;
}
