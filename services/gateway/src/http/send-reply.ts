import { endSlowReading, relay, type SlowReading } from '@kr/byte-relay';
import type { Response } from 'express';
import type { Call, JsonReply, Reply } from './endpoint.ts';
import { sendRendered } from './rendered.ts';

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
      await relay(reply.stream, response, { signal: call.signal });
      return;
  }
}
