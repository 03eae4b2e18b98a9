import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from '@kr/telemetry';
import { LRUCache } from 'lru-cache';
import { chooseMediaType } from '../http/accept.ts';
import type { CrossOrigin } from '../http/headers.ts';
import { setCaching, setSecurityHeaders } from '../http/headers.ts';
import { nameRoute } from '../http/observe-requests.ts';
import { giveId, logWhenClosed } from '../http/request-log.ts';
import { hasInvalidHost } from '../http/request-shape.ts';
import type { RateLimits } from '../rate-limits/rate-limits.ts';
import { PAGE_TYPE, type Rendered, sendRendered } from '../rendering/rendered.ts';
import type { ResponseCache } from './response-cache.ts';
import { entityRoute, isEntityPath, isPagePath } from './response-cache.ts';

export interface ServeKeptDeps {
  answers: Pick<ResponseCache, 'find'>;
  baseUrlOf: (request: IncomingMessage) => string;
  logger: Logger;
  newId: () => string;
  rateLimits: RateLimits;
  crossOrigin: CrossOrigin;
}

/** More headers than any usual client sends; who sends more is answered the long way, where the limits are. */
const MOST_HEADERS = 30;

/**
 * Answers anonymous reads of published entities from the cache, exactly as the application would, and passes every
 * other request on.
 */
export function serveFromCache(
  { answers, baseUrlOf, logger, newId, rateLimits, crossOrigin }: ServeKeptDeps,
  application: RequestListener,
): RequestListener {
  const mediaTypes = new LRUCache<string, string>({ max: 100 });

  function find(request: IncomingMessage, response: ServerResponse): Rendered | undefined {
    const { url, headers } = request;
    if (url === undefined || !isPlainRead(request)) return undefined;
    const isPage = isPagePath(url);
    if (!isPage && !isEntityPath(url)) return undefined;
    try {
      const accept = headers.accept ?? '';
      const mediaType = isPage
        ? pageTypeOf(accept)
        : (mediaTypes.get(accept) ?? chooseMediaType(accept, 'entity'));
      if (mediaType === undefined) return undefined;
      if (!isPage) mediaTypes.set(accept, mediaType);
      const kept = answers.find({ path: url, mediaType, baseUrl: baseUrlOf(request) });
      if (kept !== undefined) rateLimits.count(request, response, { userId: null, weight: 'one' });
      return kept;
    } catch {
      // Refusals are worded by the application.
      return undefined;
    }
  }

  return (request: IncomingMessage, response: ServerResponse) => {
    const kept = find(request, response);
    if (kept === undefined) {
      application(request, response);
      return;
    }
    nameRoute(response, 'GET', isEntityPath(request.url) ? entityRoute(request.url) : 'page');
    giveId(request, response, newId);
    logWhenClosed(logger, request, response);
    setSecurityHeaders(response);
    setCaching(response, { hasUser: false, hasLink: false });
    crossOrigin(request, response, () => sendRendered(response, kept, request));
  };
}

/** Browsers name HTML; other clients may negotiate a format instead of the page. */
function pageTypeOf(accept: string): string | undefined {
  return accept.startsWith('text/html') ? PAGE_TYPE : undefined;
}

/** A read without credentials, body or headers that the application would have to evaluate. */
function isPlainRead(request: IncomingMessage): boolean {
  const { method, headers, rawHeaders } = request;
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers.authorization === undefined &&
    headers.cookie === undefined &&
    headers['if-match'] === undefined &&
    headers['content-type'] === undefined &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    rawHeaders.length <= 2 * MOST_HEADERS &&
    !hasInvalidHost(request)
  );
}
