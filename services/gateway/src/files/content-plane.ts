import type { Readable } from 'node:stream';
import { ServiceError } from '@kr/service-error';
import { Agent, type Dispatcher } from 'undici';

/** One request about the bytes of one file. */
export interface ContentRequest {
  method: 'GET' | 'HEAD' | 'PUT';
  entityId: string;
  key: string;
  ticket: string;
  headers: Record<string, string>;
  body?: Readable;
  signal?: AbortSignal;
}

export interface ContentAnswer {
  status: number;
  /** Without those that speak of the connection only. */
  headers: Record<string, string | string[]>;
  body: Dispatcher.ResponseData['body'];
}

/** Where the files service takes and gives bytes: over HTTP, passed on as they come. */
export interface ContentPlane {
  /** Answers also when the files service refuses. @throws ServiceError `unavailable`: it is not reached */
  request(request: ContentRequest): Promise<ContentAnswer>;
  close(): Promise<void>;
}

// A transfer may take as long as it moves, and that is watched at both its ends.
const AGENT = { connections: 256, connectTimeout: 3_000, headersTimeout: 0, bodyTimeout: 0, pipelining: 1 };

const NOT_RELAYED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date', 'kr-error-code']);

export function openContentPlane(baseUrl: URL): ContentPlane {
  const agent = new Agent(AGENT);
  const root = baseUrl.pathname.replace(/\/+$/, '');
  return {
    request: async ({ method, entityId, key, ticket, headers, body, signal }) => {
      try {
        const answer = await agent.request({
          origin: baseUrl.origin,
          path: `${root}/content/${encodeURIComponent(entityId)}/${encodeURIComponent(key)}`,
          method,
          headers: { ...headers, 'kr-ticket': ticket },
          body: body ?? null,
          ...(signal === undefined ? {} : { signal }),
        });
        return { status: answer.statusCode, headers: relayed(answer.headers), body: answer.body };
      } catch (cause) {
        throw new ServiceError('unavailable', 'The files service is not available.', {
          retryAfterMs: 1_000,
          cause,
        });
      }
    },
    close: () => agent.destroy(),
  };
}

function relayed(headers: Dispatcher.ResponseData['headers']): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_RELAYED.has(name)) kept[name] = value;
  }
  return kept;
}
