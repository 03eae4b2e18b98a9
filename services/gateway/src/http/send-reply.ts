import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { isKnownRevision } from './conditional.ts';
import type { Call, Reply } from './endpoint.ts';

/** Writes a reply in the media type that was chosen for it. */
export async function sendReply(
  response: Response,
  reply: Reply,
  call: Call,
  mediaType: string,
): Promise<void> {
  switch (reply.as) {
    case 'empty':
      response.writeHead(reply.status).end();
      return;
    case 'text':
      return sendBytes(response, reply.status, reply.type, Buffer.from(reply.text), call);
    case 'json':
      if (reply.revision !== undefined) {
        response.setHeader('etag', `"${reply.revision}"`);
        if (isRead(call) && isKnownRevision(call.headers['if-none-match'], reply.revision)) {
          response.writeHead(304).end();
          return;
        }
      }
      return sendBytes(response, reply.status, mediaType, jsonBytes(reply.body, call), call);
    case 'stream':
      for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
      response.writeHead(reply.status);
      await pipeline(reply.stream, response, { signal: call.signal });
      return;
  }
}

function isRead({ method }: Call): boolean {
  return method === 'GET' || method === 'HEAD';
}

function sendBytes(response: Response, status: number, type: string, bytes: Buffer, call: Call): void {
  response.setHeader('content-type', type);
  response.setHeader('content-length', bytes.length);
  response.writeHead(status);
  if (call.method === 'HEAD') response.end();
  else response.end(bytes);
}

function jsonBytes(body: unknown, call: Call): Buffer {
  const isPretty = (call.query.get('prettyprint') ?? '') !== '';
  return Buffer.from(isPretty ? JSON.stringify(sorted(body), undefined, 2) : JSON.stringify(body));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
