import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, HttpClient, Sent } from '../../e2e/story/http-client.ts';

const TO_BE_REPEATED = new Set([429, 502, 503]);
/** One second each: longer than the lease of a key of a dead gateway. */
const MOST_WAITS = 60;

/** A client that retries once after no answer or `Retry-After`, after the given time. */
export function retryingClient(client: HttpClient): HttpClient {
  const call = async <Body>(method: string, target: string, given: Sent = {}): Promise<Answer<Body>> => {
    const sent =
      method === 'POST'
        ? { ...given, headers: { 'Idempotency-Key': randomUUID(), ...given.headers } }
        : given;
    const first = await client.call<Body>(method, target, sent).catch((error: unknown) => String(error));
    if (typeof first !== 'string' && !TO_BE_REPEATED.has(first.status)) return first;
    if (typeof first !== 'string') await pauseBefore(first);
    // The key of a dead gateway is in use until its lease ends.
    let second = await client.call<Body>(method, target, sent);
    for (let waits = 0; waits < MOST_WAITS && isStillExecuted(second); waits += 1) {
      await pauseBefore(second);
      second = await client.call<Body>(method, target, sent);
    }
    return second;
  };
  return {
    call,
    sure: async <Body>(method: string, target: string, sent?: Sent) => {
      const { status, text, body } = await call<Body>(method, target, sent);
      if (status < 300) return body;
      throw new Error(`${method} ${target} answered ${status}: ${text}`);
    },
  };
}

function isStillExecuted({ status, body }: Answer<unknown>): boolean {
  return status === 409 && Reflect.get(Object(body), 'code') === 'idempotency_key_in_use';
}

/** The `Retry-After` of the answer, in seconds. */
function pauseBefore({ headers }: Answer<unknown>): Promise<void> {
  return sleep(1_000 * Number(headers.get('retry-after') ?? 1));
}
