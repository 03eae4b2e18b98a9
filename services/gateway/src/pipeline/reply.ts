import type { ServerResponse } from 'node:http';
import { endSlowReading, pipeAll, type SlowReading } from '@kr/byte-relay';
import type { Response } from 'express';
import type { Call, JsonReply, Reply } from '../http/endpoint.ts';
import { writtenError } from '../http/error-response.ts';
import type { IdempotentResult } from '../idempotency/execute-once.ts';
import { isFinal, type StoredResponse } from '../idempotency/key-store.ts';
import { renderJson, sendRendered } from '../rendering/rendered.ts';

/** Writes a reply that is no JSON; see `rendered.ts` for those. */
export async function sendReply(
  response: Response,
  reply: Exclude<Reply, JsonReply>,
  call: Call,
  slowReading: SlowReading,
): Promise<void> {
  switch (reply.as) {
    case 'empty':
      response.writeHead(reply.status, reply.headers).end();
      return;
    case 'text': {
      const { status, type, text, headers = {} } = reply;
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      const bytes = Buffer.from(text);
      sendRendered(response, { status, mediaType: type, tag: undefined, bytes }, call);
      return;
    }
    case 'stream':
      for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
      response.writeHead(reply.status);
      endSlowReading(response, slowReading);
      await pipeAll(reply.stream, response, { signal: call.signal });
      return;
  }
}

/**
 * The answer of an execution if it can be replayed: a success, or a permanent refusal. Other errors are thrown, and a retry executes
 * again.
 */
export async function executeReplayable(
  execute: () => Promise<Reply>,
  call: Call,
  requestId: string,
): Promise<StoredResponse> {
  try {
    return toStoredResponse(await execute(), call);
  } catch (thrown) {
    const refusal = writtenError(thrown, {
      accept: call.headers.accept,
      requestId,
      vocabularies: call.vocabularies,
    });
    if (!isFinal(refusal)) throw thrown;
    return refusal;
  }
}

function toStoredResponse(reply: Reply, call: Call): StoredResponse {
  switch (reply.as) {
    case 'json': {
      const { status, tag, location, bytes } = renderJson(reply, call);
      const headers = {
        'content-type': call.mediaType,
        ...(tag === undefined ? {} : { etag: tag }),
        ...(location === undefined ? {} : { location }),
      };
      return { status, headers, body: new Uint8Array(bytes) };
    }
    case 'text':
      return {
        status: reply.status,
        headers: { 'content-type': reply.type },
        body: new Uint8Array(Buffer.from(reply.text)),
      };
    case 'empty':
      return { status: reply.status, headers: reply.headers ?? {}, body: new Uint8Array() };
    case 'stream':
      throw new Error('a stream cannot be answered twice');
  }
}

/** Answers a keyed request, and marks replayed answers. */
export function sendStored(response: ServerResponse, { answer, isReplayed }: IdempotentResult): void {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  if (isReplayed) response.setHeader('idempotency-replayed', 'true');
  if (answer.status !== 204) response.setHeader('content-length', answer.body.length);
  response.writeHead(answer.status).end(answer.body);
}
