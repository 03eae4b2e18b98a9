import { timingSafeEqual } from 'node:crypto';
import { COLLECTION, type Entity, type ErrorBody, type FileListing, type Hits, type Kind } from '@kr/formats';
import type { Request } from 'express';
import { Pool } from 'undici';

/** The parts of a page request that the API needs to answer the same person. */
export interface Reader {
  /** Scheme and host that the browser used, without a slash at the end. */
  baseUrl: string;
  /** The access-link token of the page, carried through every link; undefined without one. */
  token: string | undefined;
  /** Headers for the gateway: they identify the client, and forbid answers from its cache if the request does. */
  forwarded: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/** An error answer of the API. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: ErrorBody;
  readonly retryAfter: string | undefined;

  constructor(status: number, body: ErrorBody, retryAfter?: string) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.retryAfter = retryAfter;
  }
}

/** The public API as one reader sees it. Every method throws `ApiError` for an answer of 400 or more. */
export interface Repository {
  entity(kind: Kind, id: string): Promise<Entity>;
  draft(kind: Kind, id: string): Promise<Entity>;
  latest(kind: Kind, id: string): Promise<Entity>;
  versions(kind: Kind, id: string, part: ListPart): Promise<Hits>;
  files(entity: Entity, kind: Kind): Promise<FileListing>;
  resources(entity: Entity, part: ListPart): Promise<Hits>;
  search(query: URLSearchParams): Promise<Hits>;
  /** Entities that administrators have removed, of one kind (`records` or `packages`), at most 10,000. */
  removals(kind: string): Promise<Removal[]>;
  /** The first `maxBytes` of a file, and whether that is all of it. */
  contentStart(url: string, maxBytes: number): Promise<{ bytes: Buffer; isWhole: boolean }>;
}

/** One page of a list. */
export interface ListPart {
  size: number;
  page: number;
}

export interface Removal {
  id: string;
  kind: string;
  removedAt: string;
}

export type OpenRepository = (reader: Reader) => Repository;

export interface RepositoryClient {
  open: OpenRepository;
  /** @throws when the gateway does not answer */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;
const REMOVAL_PAGES = 10;

interface RemovalListing {
  hits: { hits: { id: string; tombstone: { removal_date: string } }[]; total: number };
}

/** Connects to the gateway at `gatewayUrl` when needed; `webKey` makes it trust the forwarded client address. */
export function connectRepository(gatewayUrl: URL, webKey: string): RepositoryClient {
  const pool = new Pool(gatewayUrl.origin, {
    connections: 64,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  return {
    open: (reader) =>
      repositoryOf(pool, { ...reader, forwarded: { ...reader.forwarded, 'x-web-key': webKey } }),
    async ping() {
      const { statusCode, body } = await pool.request({ method: 'GET', path: '/api/ping' });
      await body.dump();
      if (statusCode !== 200) throw new Error(`the gateway answers ${statusCode}`);
    },
    close: () => pool.close(),
  };
}

function repositoryOf(pool: Pool, reader: Reader): Repository {
  const request = (path: string, headers: Record<string, string> = {}) =>
    pool.request({
      method: 'GET',
      path: withToken(path, reader.token),
      headers: { ...reader.forwarded, ...headers },
      signal: reader.signal,
    });

  async function get<Body>(path: string): Promise<Body> {
    const { statusCode, headers, body } = await request(path, { accept: 'application/json' });
    if (statusCode < 300) return (await body.json()) as Body;
    const text = await body.text();
    throw new ApiError(statusCode, errorOf(statusCode, text), first(headers['retry-after']));
  }

  const pathOf = (kind: Kind, id: string): string => `/api/${COLLECTION[kind]}/${encodeURIComponent(id)}`;
  return {
    entity: (kind, id) => get(pathOf(kind, id)),
    draft: (kind, id) => get(`${pathOf(kind, id)}/draft`),
    latest: (kind, id) => get(`${pathOf(kind, id)}/versions/latest`),
    versions: (kind, id, { size, page }) => get(`${pathOf(kind, id)}/versions?size=${size}&page=${page}`),
    files: ({ id, is_draft }, kind) => get(`${pathOf(kind, id)}${is_draft ? '/draft' : ''}/files`),
    resources: ({ id, is_draft }, { size, page }) =>
      get(`${pathOf('package', id)}${is_draft ? '/draft' : ''}/resources?size=${size}&page=${page}`),
    search: (query) => get(`/api/search?${query}`),
    async removals(kind) {
      const removals: Removal[] = [];
      for (let page = 1; page <= REMOVAL_PAGES; page += 1) {
        const { hits } = await get<RemovalListing>(`/api/${kind}/removed?size=1000&page=${page}`);
        for (const { id, tombstone } of hits.hits)
          removals.push({ id, kind, removedAt: tombstone.removal_date });
        if (page * 1_000 >= hits.total) break;
      }
      return removals;
    },
    async contentStart(url, maxBytes) {
      const { pathname } = new URL(url, reader.baseUrl);
      const range = { range: `bytes=0-${maxBytes - 1}` };
      const { statusCode, headers, body } = await request(pathname, range);
      // An empty file has no first byte.
      if (statusCode === 416) {
        await body.dump();
        return { bytes: Buffer.alloc(0), isWhole: true };
      }
      if (statusCode >= 300) throw new ApiError(statusCode, errorOf(statusCode, await body.text()));
      const bytes = Buffer.from(await body.arrayBuffer());
      const size = Number(/\/(\d+)$/.exec(first(headers['content-range']) ?? '')?.[1] ?? bytes.length);
      return { bytes, isWhole: bytes.length >= size };
    },
  };
}

function errorOf(status: number, text: string): ErrorBody {
  try {
    return JSON.parse(text) as ErrorBody;
  } catch {
    return { status, message: 'The repository did not answer as expected.' };
  }
}

/** The URL with the access-link token, which every link of a page that was opened by one has to carry. */
export function withToken(url: string, token: string | undefined): string {
  if (token === undefined) return url;
  return `${url}${url.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
}

/** Only image viewers send credentials: a page with them would not be the same for all readers. */
const WITH_CREDENTIALS = '/api/iiif/';

interface ReaderOptions {
  /** Takes the place of the host and scheme of the request. */
  publicBaseUrl: URL | undefined;
  /** The gateway proves itself with it. */
  webKey: string;
}

/** Host, scheme, token and client of a page request; a proxy forwards them in headers. */
export function readerOf(
  { headers, originalUrl, socket }: Pick<Request, 'headers' | 'originalUrl' | 'socket'>,
  signal: AbortSignal,
  { publicBaseUrl, webKey }: ReaderOptions,
): Reader {
  const requested = `${first(headers['x-forwarded-proto']) === 'https' ? 'https' : 'http'}://${first(headers['x-forwarded-host']) ?? headers.host ?? 'localhost'}`;
  const { protocol, host, origin } = publicBaseUrl ?? new URL(requested);
  const start = originalUrl.indexOf('?');
  const token = start === -1 ? null : new URLSearchParams(originalUrl.slice(start)).get('token');
  const { authorization, 'cache-control': caching } = headers;
  return {
    baseUrl: origin,
    token: token || undefined,
    forwarded: {
      ...(authorization !== undefined && originalUrl.startsWith(WITH_CREDENTIALS) ? { authorization } : {}),
      // Pages that the gateway caches are read past its cache, so that their age is that of one cache.
      ...(caching === 'no-cache' ? { 'cache-control': caching } : {}),
      host,
      'x-forwarded-for': forwardedFor({ headers, socket }, webKey),
      'x-forwarded-host': host,
      'x-forwarded-proto': protocol.slice(0, -1),
    },
    signal,
  };
}

/** The addresses of the hops of a request. Any client can send the header, so its own address is added. */
function forwardedFor({ headers, socket }: Pick<Request, 'headers' | 'socket'>, webKey: string): string {
  const before = first(headers['x-forwarded-for']);
  const peer = socket.remoteAddress ?? '';
  if (before === undefined) return peer;
  // The address of the gateway would count for all of its clients.
  return isEqual(first(headers['x-web-key']) ?? '', webKey) ? before : `${before}, ${peer}`;
}

function isEqual(presented: string, secret: string): boolean {
  const [one, other] = [Buffer.from(presented), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
