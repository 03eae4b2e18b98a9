import type { IncomingMessage, ServerResponse } from 'node:http';
import { VENDOR_TYPE } from '../http/accept.ts';
import { entityTag, isKnownTag } from '../http/conditional.ts';
import type { Call, JsonReply } from '../http/endpoint.ts';
import { withUi } from './ui-json.ts';

/** Media type of pages. */
export const PAGE_TYPE = 'text/html; charset=utf-8';

/** An answer as it goes to the wire. */
export interface Rendered {
  status: number;
  mediaType: string;
  /** The ETag of a single entity's state; undefined for other bodies. */
  tag: string | undefined;
  location?: string | undefined;
  /** Further headers; they replace those of all answers. */
  headers?: Readonly<Record<string, string | string[]>>;
  bytes: Buffer;
}

export function renderJson(
  { status, location, body, state }: JsonReply,
  { query, mediaType }: Pick<Call, 'query' | 'mediaType'>,
): Rendered {
  const value = mediaType === VENDOR_TYPE ? withUi(body) : body;
  const isPretty = (query.get('prettyprint') ?? '') !== '';
  const text = isPretty ? JSON.stringify(sorted(value), undefined, 2) : JSON.stringify(value);
  const tag = state === undefined ? undefined : entityTag(state, mediaType);
  return { status, mediaType, tag, location, bytes: Buffer.from(text) };
}

export function sendRendered(
  response: ServerResponse,
  { status, mediaType, tag, location, headers: further = {}, bytes }: Rendered,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
): void {
  for (const [name, value] of Object.entries(further)) response.setHeader(name, value);
  if (tag !== undefined) {
    response.setHeader('etag', tag);
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && status === 200 && isKnownTag(headers['if-none-match'], tag)) {
      response.writeHead(304).end();
      return;
    }
  }
  if (location !== undefined) response.setHeader('location', location);
  response.setHeader('content-type', mediaType);
  response.setHeader('content-length', bytes.length);
  response.writeHead(status);
  if (method === 'HEAD') response.end();
  else response.end(bytes);
}

function sorted(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(sorted);
  if (typeof json !== 'object' || json === null) return json;
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
