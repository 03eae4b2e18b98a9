import { Agent, request } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { urlToHttpOptions } from 'node:url';
import { ServiceError } from '@kr/service-error';

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
  body?: Readable;
  signal?: AbortSignal;
}

export interface ContentAnswer {
  status: number;
  /** Without those that speak of the connection only. */
  headers: Record<string, string | string[]>;
  body: Readable;
}

/** Where the files service takes and gives bytes: over HTTP, passed on as they come. */
export interface ContentPlane {
  /** Answers also when the files service refuses. @throws ServiceError `unavailable`: it is not reached */
  request(request: ContentRequest): Promise<ContentAnswer>;
  close(): void;
}

const NOT_RELAYED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'kr-error-code']);

/** No time limits here: a transfer may take as long as it moves, and that is watched at both its ends. */
export function openContentPlane(baseUrl: URL): ContentPlane {
  const agent = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 16 });
  const { protocol, hostname, port } = urlToHttpOptions(baseUrl);
  const root = baseUrl.pathname.replace(/\/+$/, '');

  const send = (asked: ContentRequest, isRepeat = false): Promise<ContentAnswer> =>
    new Promise((resolve, reject) => {
      const { method, ticket, headers, body, signal } = asked;
      const outgoing = request({
        // An upload cannot be repeated, so it takes no connection that may be about to close; and it does not ask
        // for its own to be closed, for then the reset that follows an early answer could overtake it.
        agent: body === undefined ? agent : false,
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
      outgoing.on('error', (cause) => {
        const isStale = outgoing.reusedSocket && body === undefined && !isRepeat && signal?.aborted !== true;
        if (isStale) send(asked, true).then(resolve, reject);
        else reject(unreachable(cause));
      });
      outgoing.once('response', (incoming) => {
        // Answered before all was sent: the rest is not wanted.
        incoming.once('close', () => {
          if (!outgoing.writableFinished) outgoing.destroy();
        });
        const { statusCode = 502, headers: answered } = incoming;
        resolve({ status: statusCode, headers: relayed(answered), body: incoming });
      });
      if (body === undefined) {
        outgoing.end();
        return;
      }
      // What is refused by its head alone, as a length that is too great, is refused before any byte comes.
      outgoing.flushHeaders();
      pipeline(body, outgoing, () => {});
    });

  return { request: (asked) => send(asked), close: () => agent.destroy() };
}

function pathOf({ face, entityId, key, uploadId }: ContentRequest): string {
  const parts = [face, entityId, key, uploadId].filter((part) => part !== undefined);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

function unreachable(cause: Error): ServiceError {
  return new ServiceError('unavailable', 'The files service is not available.', {
    retryAfterMs: 1_000,
    cause,
  });
}

function relayed(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_RELAYED.has(name)) kept[name] = value;
  }
  return kept;
}
