import type { IncomingMessage, ServerResponse } from 'node:http';
import { isKnownRevision } from './conditional.ts';
import type { Call, JsonReply } from './endpoint.ts';

/** An answer as it goes to the wire. */
export interface Rendered {
  status: number;
  mediaType: string;
  /** Of the one entity that is shown; undefined when it shows another thing. */
  revision: string | undefined;
  bytes: Buffer;
}

export function renderJson(
  { status, body, revision }: JsonReply,
  { query }: Pick<Call, 'query'>,
  mediaType: string,
): Rendered {
  const isPretty = (query.get('prettyprint') ?? '') !== '';
  const text = isPretty ? JSON.stringify(sorted(body), undefined, 2) : JSON.stringify(body);
  return { status, mediaType, revision, bytes: Buffer.from(text) };
}

export function sendRendered(
  response: ServerResponse,
  { status, mediaType, revision, bytes }: Rendered,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
): void {
  if (revision !== undefined) {
    response.setHeader('etag', `"${revision}"`);
    const isRead = method === 'GET' || method === 'HEAD';
    if (isRead && isKnownRevision(headers['if-none-match'], revision)) {
      response.writeHead(304).end();
      return;
    }
  }
  response.setHeader('content-type', mediaType);
  response.setHeader('content-length', bytes.length);
  response.writeHead(status);
  if (method === 'HEAD') response.end();
  else response.end(bytes);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
