import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './http-problem.ts';

export interface BodyLimits {
  maxBytes: number;
  /** Milliseconds from the start of the request in which the whole body must have come. */
  timeoutMs: number;
  /** Called with the bytes of each chunk before it is stored. @throws Error rejects the body with this error */
  hold?: (bytes: number) => void;
}

/**
 * The whole body of a request.
 *
 * @throws HttpProblem
 *   - 413: more bytes than allowed, declared or counted
 *   - 408: it did not come in time
 *   - 400: the client broke off
 */
export function readBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs, hold }: BodyLimits,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  // Nothing more is heard of a request that ended before anybody listened.
  if (request.destroyed) return Promise.reject(incomplete());

  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        settle(() =>
          reject(new HttpProblem(408, 'The request body did not arrive in time.', { connection: 'close' })),
        ),
      timeoutMs,
    );
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return settle(() => reject(tooLarge(maxBytes)));
      try {
        hold?.(chunk.length);
      } catch (error) {
        return settle(() => reject(error));
      }
      chunks.push(chunk);
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks, size)));
    const onBroken = () => settle(() => reject(incomplete()));
    const settle = (outcome: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
      // An error after the answer is decided must not go unheard.
      request.on('error', () => {});
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}

function incomplete(): HttpProblem {
  return new HttpProblem(400, 'The request body is incomplete.');
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem(413, `The request body is larger than ${maxBytes} bytes.`);
}
