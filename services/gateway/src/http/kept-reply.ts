import type { ServerResponse } from 'node:http';
import type { OnceAnswered } from '../idempotency/answer-once.ts';
import { isFinal, type KeptAnswer } from '../idempotency/kept-answer.ts';
import type { Call, Reply } from './endpoint.ts';
import { writtenError } from './error-response.ts';
import { renderJson } from './rendered.ts';

/**
 * What an execution answers, as it may be given again: a success, or a refusal that stays one. Others are thrown on,
 * and the next try is a new one.
 */
export async function keepAnswer(
  execute: () => Promise<Reply>,
  call: Call,
  { mediaType, requestId }: { mediaType: string; requestId: string },
): Promise<KeptAnswer> {
  try {
    return answerOf(await execute(), call, mediaType);
  } catch (thrown) {
    const refusal = writtenError(thrown, { accept: call.headers.accept, requestId });
    if (!isFinal(refusal)) throw thrown;
    return refusal;
  }
}

function answerOf(reply: Reply, call: Call, mediaType: string): KeptAnswer {
  switch (reply.as) {
    case 'json': {
      const { status, tag, location, bytes } = renderJson(reply, call, mediaType);
      const headers = {
        'content-type': mediaType,
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

/** Answers a keyed request, and says so when nothing was done for it this time. */
export function sendKept(response: ServerResponse, { answer, isReplayed }: OnceAnswered): void {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  if (isReplayed) response.setHeader('idempotency-replayed', 'true');
  if (answer.status !== 204) response.setHeader('content-length', answer.body.length);
  response.writeHead(answer.status).end(answer.body);
}
