import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { chooseMediaType, WRITTEN } from '../http/accept.ts';
import { setCaching } from '../http/headers.ts';
import { nameRoute } from '../http/observe-requests.ts';
import { hasInvalidHost } from '../http/request-shape.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import { PAGE_TYPE, type Rendered, sendRendered } from '../rendering/rendered.ts';
import { isEntityUrl, isPageUrl, type ResponseCache } from './response-cache.ts';

export interface ServeFromCacheDeps {
  cache: Pick<ResponseCache, 'find'>;
  baseUrlOf: (request: IncomingMessage) => string;
  rateLimits: Pick<RateLimits, 'count'>;
}

/** More headers than any usual client sends; requests with more are answered by the application, where the limits are. */
const MAX_HEADERS = 30;

/**
 * Answers an anonymous read of a published entity from the cache, exactly as the application would. Returns false, without effect, for
 * every other request.
 */
export function serveFromCache({
  cache,
  baseUrlOf,
  rateLimits,
}: ServeFromCacheDeps): (request: IncomingMessage, response: ServerResponse) => boolean {
  const mediaTypes = new LRUCache<string, string>({ max: 100 });

  /** Undefined: an export, which is not cached. @throws HttpProblem 406 */
  function entityTypeOf(accept: string): string | undefined {
    const mediaType = mediaTypes.get(accept) ?? chooseMediaType(accept, 'published');
    mediaTypes.set(accept, mediaType);
    return WRITTEN.includes(mediaType) ? mediaType : undefined;
  }

  function find(url: string, request: IncomingMessage, response: ServerResponse): Rendered | undefined {
    const accept = request.headers.accept ?? '';
    const isEntity = isEntityUrl(url);
    if (!isEntity && !isPageUrl(url)) return undefined;
    try {
      const mediaType = isEntity ? entityTypeOf(accept) : pageTypeOf(accept);
      if (mediaType === undefined) return undefined;
      const found = cache.find({ path: url, mediaType, baseUrl: baseUrlOf(request) });
      if (found === undefined) return undefined;
      rateLimits.count(request, response, { userId: null, cost: 'one' });
      nameRoute(response, 'GET', isEntity ? url.replace(/[^/]*$/, ':id') : 'page');
      return found;
    } catch {
      // The application answers refusals.
      return undefined;
    }
  }

  return (request, response) => {
    const { url } = request;
    const found = url !== undefined && isPlainRead(request) ? find(url, request, response) : undefined;
    if (found === undefined) return false;
    setCaching(response, { hasUser: false, hasLink: false });
    sendRendered(response, found, request);
    return true;
  };
}

/** Browsers name HTML; other clients may negotiate a format instead of the page. */
export function pageTypeOf(accept: string): string | undefined {
  return accept.startsWith('text/html') ? PAGE_TYPE : undefined;
}

/** The web service renders a page that this service caches. Browsers send `no-cache` with every conditional fetch, so that alone does not count. */
function isForCachedPage({ headers }: IncomingMessage): boolean {
  return headers['x-web-key'] !== undefined && headers['cache-control'] === 'no-cache';
}

/** A read without credentials, body or headers that the application would have to evaluate, and that a cache may answer. */
function isPlainRead(request: IncomingMessage): boolean {
  const { method, headers, rawHeaders } = request;
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers.authorization === undefined &&
    headers.cookie === undefined &&
    !isForCachedPage(request) &&
    headers['if-match'] === undefined &&
    headers['content-type'] === undefined &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    rawHeaders.length <= 2 * MAX_HEADERS &&
    !hasInvalidHost(request)
  );
}
