import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, HttpClient, Sent } from '../../e2e/story/http-client.ts';

const TO_BE_REPEATED = new Set([429, 502, 503]);
/** Of a second each: longer than a key is held by who died. */
const MOST_WAITS = 60;

/** A client that sends once more what was not answered, or told to come back, as long after as it was told. */
export function retryingClient(client: HttpClient): HttpClient {
  const call = async <Body>(method: string, target: string, given: Sent = {}): Promise<Answer<Body>> => {
    const sent =
      method === 'POST'
        ? { ...given, headers: { 'Idempotency-Key': randomUUID(), ...given.headers } }
        : given;
    const first = await client.call<Body>(method, target, sent).catch((error: unknown) => String(error));
    if (typeof first !== 'string' && !TO_BE_REPEATED.has(first.status)) return first;
    if (typeof first !== 'string') await pauseBefore(first);
    // Whoever died with the first one holds its key until its lease ends.
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

/** As long as the answer says, in seconds. */
function pauseBefore({ headers }: Answer<unknown>): Promise<void> {
  return sleep(1_000 * Number(headers.get('retry-after') ?? 1));
}
