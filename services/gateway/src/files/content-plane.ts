import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { type ConfirmEnd, passOn, release } from '@kr/byte-relay';
import { ServiceError } from '@kr/service-error';
import { HttpProblem, type ProblemDetails } from '../http/http-problem.ts';
import { isObject } from '../http/json-object.ts';
import { watchAccess } from './watch-access.ts';

/** After how many milliseconds of silence the kernel asks whether the other machine is still there. */
const PROBE_AFTER_MS = 10_000;

/**
 * Breaks a request off, and its answer if that has begun, when nothing passes for `idleMs` milliseconds while it is the
 * other side that has something to do: to connect, to take what was sent, to answer, to send on. Whoever sends this side the
 * bytes, or reads them here, may take his time.
 */
export function breakOffWhenSilent(
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
  face: 'content' | 'uploads' | 'archive';
  entityId: string;
  /** Of one file. */
  key?: string;
  /** One of the uploads. */
  uploadId?: string;
  /** What is asked without one is open to all. */
  ticket?: string;
  headers: Record<string, string>;
  /** Of a client's request. It is never destroyed here, so that a client that sends everything before it listens hears the answer. */
  body?: Readable;
  signal?: AbortSignal;
  /** Checks credentials and permission again while the transfer runs, and before its last bytes are sent. */
  recheck?: () => Promise<void>;
}

export interface ContentAnswer {
  status: number;
  /** Without those that speak of the connection only. */
  headers: Record<string, string | string[]>;
  body: Readable;
}

/** Where the files service takes and gives bytes: over HTTP, passed on as they come. */
export interface ContentPlane {
  /**
   * Answers also when the files service refuses.
   *
   * @throws ServiceError `unavailable`: it is not reached, or makes no progress; a body that breaks off for that throws
   *   what `asUnavailable` understands
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

/** A transfer may take as long as it moves. How many there may be at once is said at the door. */
export function openContentPlane(baseUrl: URL, { idleMs, recheckMs }: ContentPlaneOptions): ContentPlane {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 16 });
  const { protocol, hostname, port } = urlToHttpOptions(baseUrl);
  const root = baseUrl.pathname.replace(/\/+$/, '');

  const send = (asked: ContentRequest, isRepeat = false): Promise<ContentAnswer> =>
    new Promise((resolve, reject) => {
      const { method, ticket, headers, body, signal, recheck } = asked;
      const isRepeatable = body === undefined && method !== 'POST';
      const outgoing = request({
        // What cannot be repeated takes no connection that may be about to close; and it does not ask for its own to be
        // closed, for then the reset that follows an early answer could overtake it.
        agent: isRepeatable ? agent : false,
        protocol,
        hostname,
        port,
        path: `${root}${pathOf(asked)}`,
        method,
        headers: {
          ...headers,
          ...(ticket === undefined ? {} : { 'kr-ticket': ticket }),
          connection: 'keep-alive',
        },
        ...(signal === undefined ? {} : { signal }),
      });
      releaseWhenParsed(outgoing);
      breakOffWhenSilent(outgoing, { idleMs, error: () => silent(idleMs) });
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
        if (isStale) send(asked, true).then(resolve, reject);
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
      // What is refused by its head alone, as a length that is too great, is refused before any byte comes.
      outgoing.flushHeaders();
      sendBody(body, outgoing, access && { totalBytes: lengthOf(headers), confirm: access.confirm });
    });

  return { request: (asked) => send(asked), close: () => agent.destroy() };
}

/** The parser copies what belongs to the body out of what comes from the socket, which is nobody's from then on. */
function releaseWhenParsed(outgoing: ClientRequest): void {
  outgoing.once('socket', (socket) => {
    socket.on('data', release);
    outgoing.once('close', () => socket.off('data', release));
  });
}

function sendBody(body: Readable, outgoing: ClientRequest, confirmEnd: ConfirmEnd | undefined): void {
  const breakOff = () => {
    if (!body.readableEnded) outgoing.destroy(new Error('the client broke off'));
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

function pathOf({ face, entityId, key, uploadId }: ContentRequest): string {
  const parts = [face, entityId, key, uploadId].filter((part) => part !== undefined);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** What broke a request off, or the body of its answer, in words for its client. */
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

/** More than any refusal of the files service says. */
const MOST_BYTES = 1_048_576;

/**
 * What the files service refused, as a refusal of ours, so that it looks as its reader asks for. One that is not worded
 * as ours are, because something between us gave it, is told by its status.
 */
export async function contentRefusal({ status, headers, body }: ContentAnswer): Promise<HttpProblem> {
  // What it says of its own body is not true of ours.
  const kept = Object.entries(headers).filter(
    ([name]) => name === 'content-range' || !name.startsWith('content-'),
  );
  const told = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
  const said = saidIn(await readSome(body));
  const message = typeof said['message'] === 'string' ? said['message'] : 'The request was refused.';
  return new HttpProblem(status, message, told, detailsOf(said));
}

function detailsOf({ code, hint, errors }: Record<string, unknown>): ProblemDetails {
  return {
    code: typeof code === 'string' ? code : undefined,
    hint: typeof hint === 'string' ? hint : undefined,
    errors: Array.isArray(errors) ? errors.filter(isObject) : undefined,
  };
}

/** An answer to HEAD has no body that could say more than its status. */
function saidIn(text: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(text);
    return isObject(said) ? said : {};
  } catch {
    return {};
  }
}

/** As much of a body as comes, up to a limit. */
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
    // The status has come, and stays what it is.
  }
  return Buffer.concat(chunks).toString();
}
