import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServiceError } from '@kr/service-error';
import type { Request, RequestHandler } from 'express';
import { Pool } from 'undici';
import type { Origin } from '../http/client-address.ts';
import { idOf, nameRoute } from '../http/observe-requests.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import { PAGE_TYPE, type Rendered, sendRendered } from '../rendering/rendered.ts';
import { isPageUrl, type ReadResult, type ResponseCache } from '../response-cache/response-cache.ts';
import { pageTypeOf } from '../response-cache/serve-from-cache.ts';

export interface ForwardPagesDeps {
  /** Where the web service listens. */
  webUrl: URL;
  baseUrlOf: (request: IncomingMessage) => string;
  /** Proves to the web service that the client address is right. */
  webKey: string;
  isTrusted: (request: Origin) => boolean;
  rateLimits: Pick<RateLimits, 'count'>;
  cache: Pick<ResponseCache, 'readShared'>;
}

/** Paths that this service answers itself; all others are pages. */
const OWN = /^\/api(?!\/iiif\/)(?:[/?]|$)/;
/** The one address of the web service that takes bodies. */
const POSTED = /^\/oai2d(?:\?|$)/;
const TIMEOUT_MS = 60_000;
/** Headers that end with a connection (RFC 9110, section 7.6.1), or that are set again. */
const NOT_PASSED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'date',
  'x-parent-id',
]);

export interface ForwardPages {
  handler: RequestHandler;
  close(): Promise<void>;
}

/**
 * Forwards requests for pages to the web service, and caches public pages of published entities like their JSON. While one of these is
 * rendered, further readers wait for it.
 */
export function forwardPages({
  webUrl,
  webKey,
  baseUrlOf,
  isTrusted,
  rateLimits,
  cache,
}: ForwardPagesDeps): ForwardPages {
  const pool = new Pool(webUrl.origin, {
    connections: 64,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  const handler: RequestHandler = async (request, response, next) => {
    const { method, originalUrl } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    if (OWN.test(originalUrl) || !(isRead || (method === 'POST' && POSTED.test(originalUrl)))) {
      next();
      return;
    }
    nameRoute(response, 'GET', 'page');
    rateLimits.count(request, response, { userId: null, cost: 'one' });
    const baseUrl = baseUrlOf(request);
    const read = async (): Promise<ReadResult<Rendered>> => {
      const { statusCode, headers, body } = await pool
        .request({
          method: isRead ? 'GET' : 'POST',
          path: originalUrl,
          ...(isRead ? {} : { body: request }),
          headers: {
            ...forwardedHeaders(request, baseUrl, isTrusted(request)),
            // The web service reads past the caches of documents, so that the page is as old as this entry and no older.
            ...(isCacheable(request) ? { 'cache-control': 'no-cache' } : {}),
            'x-web-key': webKey,
            'x-request-id': idOf(response),
          },
        })
        .catch((error: unknown) => {
          throw new ServiceError('unavailable', 'The pages are temporarily unavailable.', { cause: error });
        });
      const parentId = headers['x-parent-id'];
      return {
        value: renderedOf(statusCode, headers, Buffer.from(await body.arrayBuffer())),
        parentId: statusCode === 200 && typeof parentId === 'string' ? parentId : undefined,
      };
    };
    const rendered = isCacheable(request)
      ? await cache.readShared({ path: originalUrl, mediaType: PAGE_TYPE, baseUrl }, read)
      : (await read()).value;
    sendRendered(response, rendered, request);
  };
  return { handler, close: () => pool.close() };
}

/** Whether the page is the one that all anonymous readers with a browser get, if its entity is public. */
function isCacheable({ originalUrl, headers }: Request): boolean {
  return (
    isPageUrl(originalUrl) &&
    headers.authorization === undefined &&
    headers.cookie === undefined &&
    pageTypeOf(headers.accept ?? '') !== undefined
  );
}

const PASSED = ['accept', 'accept-language', 'authorization', 'content-type', 'cookie'] as const;

/** The client's headers that pages depend on, and its address and host. */
function forwardedHeaders(
  { headers, socket }: Origin,
  baseUrl: string,
  isTrusted: boolean,
): Record<string, string> {
  const { host, protocol } = new URL(baseUrl);
  const peer = socket.remoteAddress ?? '';
  const before = isTrusted ? headers['x-forwarded-for'] : undefined;
  const passed: Record<string, string> = {
    host,
    'x-forwarded-for': before === undefined ? peer : `${String(before)}, ${peer}`,
    'x-forwarded-host': host,
    'x-forwarded-proto': protocol.slice(0, -1),
  };
  for (const name of PASSED) {
    const value = headers[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

function renderedOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Rendered {
  const passed = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || NOT_PASSED.has(name) ? [] : [[name, value] as const],
  );
  return {
    status,
    mediaType: headers['content-type'] ?? PAGE_TYPE,
    tag: headers.etag,
    headers: Object.fromEntries(passed),
    bytes,
  };
}
