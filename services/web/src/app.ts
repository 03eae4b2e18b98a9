import { join } from 'node:path';
import { COLLECTION, type ErrorBody, type Kind, kindOf, negotiateFormat } from '@kr/formats';
import type { Logger } from '@kr/telemetry';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { ApiError, type OpenRepository, readerOf } from './api/repository.ts';
import { cachingOf } from './caching.ts';
import { concurrencyLimit } from './concurrency-limit.ts';
import { atomFeed } from './feeds/atom.ts';
import { securityContact } from './feeds/security-contact.ts';
import { openSearch, robots, sitemap, sitemapIndex } from './feeds/sitemap.ts';
import { type Assets, loadAssets } from './html/assets.ts';
import { link, type Page, type PageContext, renderPage } from './html/layout.ts';
import { textsIn } from './html/texts.ts';
import { iiifRoutes } from './iiif/iiif-routes.ts';
import { answerOai } from './oai/answer-oai.ts';
import { entityPage } from './pages/entity-page.ts';
import { pdfDocument, previewPage } from './pages/preview-page.ts';
import { problemPage } from './pages/problem-page.ts';
import { searchPage } from './pages/search-page.ts';
import { versionsPage } from './pages/versions-page.ts';
import { welcomePage } from './pages/welcome-page.ts';
import { landPath } from './parts/land.ts';

export interface AppDeps {
  open: OpenRepository;
  /** Base URL of links; undefined: the host of each request. */
  publicBaseUrl: URL | undefined;
  /** The gateway proves itself with it. */
  webKey: string;
  siteName: string;
  contactEmail: string;
  oaiPrefix: string;
  logger: Logger;
}

/**
 * Only pages of this site may frame a PDF, and it runs nothing. The sandbox is that of the answer: Chromium shows no PDF in a
 * frame with the attribute `sandbox`, but does show one that is sandboxed by its header.
 */
const PDF_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'self'; sandbox",
  'content-disposition': 'inline',
  'x-frame-options': 'SAMEORIGIN',
};

/** PDF files that are read into memory at once. */
const MAX_CONCURRENT_PDFS = 2;
const MAX_OAI_BODY_BYTES = 16_384;

/** Pages run our scripts only, load nothing from other hosts, and cannot be framed. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** All pages and feeds as an Express application. */
export function buildApp({
  open,
  publicBaseUrl,
  webKey,
  siteName,
  contactEmail,
  oaiPrefix,
  logger,
}: AppDeps): Express {
  const assets = loadAssets(join(import.meta.dirname, 'assets'), {
    'land.svg': `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-180 -90 360 180"><path id="land" d="${landPath([-180, -90, 180, 90])}"/></svg>`,
  });
  const limitPdfs = concurrencyLimit(MAX_CONCURRENT_PDFS);

  const contextOf = (request: Request, response: Response): PageContext => {
    const abort = new AbortController();
    response.once('close', () => abort.abort());
    const reader = readerOf(request, abort.signal, { publicBaseUrl, webKey });
    response.set('cache-control', cachingOf(reader));
    const { pathname, searchParams: query } = new URL(request.originalUrl, 'http://page');
    query.delete('token');
    const search = query.toString();
    return {
      reader,
      repository: open(reader),
      texts: textsIn('en'),
      siteName,
      asset: assets.url,
      path: search === '' ? pathname : `${pathname}?${search}`,
      query,
    };
  };

  /** Answers requests; errors become pages. */
  function handler(
    answer: (context: PageContext, params: Record<string, string>, response: Response) => Promise<void>,
  ): RequestHandler {
    return async (request, response) => {
      const context = contextOf(request, response);
      try {
        await answer(context, paramsOf(request), response);
      } catch (error) {
        sendPage(response, problemOf(error, context, logger), context);
      }
    };
  }

  type Read<Result> = (context: PageContext, params: Record<string, string>) => Promise<Result>;
  const page = (read: Read<Page>) =>
    handler(async (context, params, response) => {
      sendPage(response, await read(context, params), context);
    });
  const text = (type: string, read: Read<string>, forEverybody = 'public, max-age=300') =>
    handler(async (context, params, response) => {
      const body = await read(context, params);
      response.type(type).set('cache-control', cachingOf(context.reader, forEverybody)).send(body);
    });
  const redirect = (find: Read<string>) =>
    handler(async (context, params, response) => {
      response.redirect(302, link(await find(context, params), context));
    });

  const app = express();
  app.disable('x-powered-by');
  app.set('etag', 'strong');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use((_request, response, next) => {
    response.set(PAGE_HEADERS);
    next();
  });
  app.get('/static/:hash/:name', serveAsset(assets));
  app.get('/', page(welcomePage));
  app.get('/search', page(searchPage));
  addEntityPages('record');
  addEntityPages('package');
  app.get('/doi/*doi', redirect(findByDoi));
  app.use('/api/iiif', iiifRoutes(contextOf));
  app.get('/oai2d', oai());
  app.post('/oai2d', express.urlencoded({ limit: MAX_OAI_BODY_BYTES, extended: false }), (...exchange) =>
    oai(exchange[0].body as Record<string, string>)(...exchange),
  );
  app.get('/feed.atom', text('application/atom+xml', atomFeed));
  app.get('/sitemap.xml', text('application/xml', sitemapIndex));
  app.get(
    '/sitemap-:period.xml',
    text('application/xml', (context, { period = '' }) => sitemap(period, context)),
  );
  app.get(
    '/robots.txt',
    text('text/plain', async ({ reader }) => robots(reader.baseUrl)),
  );
  app.get(
    '/.well-known/security.txt',
    text('text/plain', async ({ reader: { baseUrl } }) =>
      securityContact(baseUrl, contactFor(baseUrl), new Date()),
    ),
  );
  app.get(
    '/opensearch.xml',
    text('application/opensearchdescription+xml', async ({ reader }) => openSearch(reader.baseUrl, siteName)),
  );
  app.use(
    page(async () => {
      throw new ApiError(404, { status: 404, message: 'There is no such page.' });
    }),
  );
  return app;

  function contactFor(baseUrl: string): string {
    return contactEmail || `postmaster@${new URL(baseUrl).hostname}`;
  }

  /** @param posted arguments in the body; undefined: those in the query */
  function oai(posted?: Record<string, string>): RequestHandler {
    const read: Read<string> = ({ reader: { baseUrl }, query, ...context }) =>
      answerOai(posted === undefined ? query : new URLSearchParams(posted), {
        ...context,
        baseUrl,
        oaiPrefix: oaiPrefix || new URL(baseUrl).hostname,
        contact: contactFor(baseUrl),
        now: new Date(),
      });
    return text('text/xml; charset=utf-8', read, 'no-cache');
  }

  function addEntityPages(kind: Kind): void {
    const one = `/${COLLECTION[kind]}/:id`;
    const versions = page((context, { id = '' }) => versionsPage(kind, id, context));
    app.get(
      kind === 'record' ? '/uploads/:id' : '/uploads/packages/:id',
      page(async (context, { id = '' }) =>
        entityPage(kind, await context.repository.draft(kind, id), context),
      ),
    );
    app.get(
      one,
      negotiate(kind),
      page(async (context, { id = '' }) =>
        entityPage(kind, await context.repository.entity(kind, id), context),
      ),
    );
    app.get(
      `${one}/latest`,
      redirect(async (context, { id = '' }) => {
        const latest = await context.repository.latest(kind, id);
        return `/${COLLECTION[kind]}/${latest.id}`;
      }),
    );
    app.get(`${one}/versions`, versions);
    app.get(`${one}/dashboard`, versions);
    app.get(
      `${one}/preview/:key`,
      page((context, { id = '', key = '' }) => previewPage(kind, id, key, context)),
    );
    app.get(
      `${one}/preview/:key/document`,
      handler(async (context, { id = '', key = '' }, response) => {
        const bytes = await limitPdfs(() => pdfDocument(kind, id, key, context));
        const caching = cachingOf(context.reader, 'private, no-cache');
        response
          .set({ ...PDF_HEADERS, 'cache-control': caching })
          .type('application/pdf')
          .send(bytes);
      }),
    );
  }
}

/** Redirects clients that prefer another format to HTML, so that the address of a page is enough for them. */
function negotiate(kind: Kind): RequestHandler {
  return (request, response, next) => {
    response.vary('Accept');
    const { accept = '*/*' } = request.headers;
    const format = negotiateFormat(accept, PAGE_TYPES);
    const isJson = format === undefined && /\bjson\b/.test(accept) && !/html|\*\/\*/.test(accept);
    if (format === undefined && !isJson) {
      next();
      return;
    }
    const { id = '' } = paramsOf(request);
    const search = new URL(request.originalUrl, 'http://page').search;
    const api = `/api/${COLLECTION[kind]}/${id}`;
    response.redirect(303, `${format === undefined ? api : `${api}/export/${format.name}`}${search}`);
  };
}

const PAGE_TYPES = [
  'text/html',
  'application/xhtml+xml',
  'application/json',
  'application/vnd.inveniordm.v1+json',
];

/** The page of the entity with a DOI. */
async function findByDoi({ repository }: PageContext, { doi = '' }: Record<string, string>): Promise<string> {
  const query = new URLSearchParams({ q: `doi:"${doi.replace(/["\\]/g, '')}"`, size: '1', allversions: '1' });
  const [found] = (await repository.search(query)).hits.hits;
  if (found === undefined) throw new ApiError(404, { status: 404, message: 'There is no such DOI here.' });
  return `/${COLLECTION[kindOf(found)]}/${found.id}`;
}

function problemOf(error: unknown, context: PageContext, logger: Logger): Page {
  if (error instanceof ApiError) {
    return { ...problemPage(error.body, context), retryAfter: error.retryAfter };
  }
  const isUnreachable = error instanceof Error && 'code' in error;
  if (!context.reader.signal.aborted) logger.error({ err: error, path: context.path }, 'page failed');
  const body: ErrorBody = { status: isUnreachable ? 503 : 500, message: 'The page could not be rendered.' };
  return problemPage(body, context);
}

function sendPage(response: Response, page: Page, context: PageContext): void {
  if (response.destroyed) return;
  if (page.link !== undefined) response.set('link', page.link);
  if (page.publicOf !== undefined) response.set('x-parent-id', page.publicOf);
  if (page.retryAfter !== undefined) response.set('retry-after', page.retryAfter);
  response
    .status(page.status ?? 200)
    .type('text/html; charset=utf-8')
    .send(renderPage(page, context));
}

function serveAsset(assets: Assets): RequestHandler {
  return (request, response, next) => {
    const asset = assets.find(request.path);
    if (asset === undefined) {
      next();
      return;
    }
    response.type(asset.type).set('cache-control', 'public, max-age=31536000, immutable').send(asset.bytes);
  };
}

function paramsOf({ params }: Request): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join('/') : String(value),
    ]),
  );
}
