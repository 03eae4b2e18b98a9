import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type HttpClient, oneTryClient, type Sent } from '../e2e/story/http-client.ts';

/** A client of several gateways that repeats once, at another of them, what it got no answer to. */
export interface SecondTries {
  http: HttpClient;
  /** How many requests were repeated. */
  readonly repeated: number;
  /** How many were not answered yet at their first try. */
  readonly underWay: number;
  /** Requests without an answer at the second try. */
  readonly failed: string[];
}

const LONGEST_LEASE_MS = 60_000;

/**
 * Behaves as clients should: alternates between the gateways, waits for `Retry-After`, and sends each
 * POST with a key, so that it is executed once. It waits for the lease of a key of a dead gateway, because that is no answer
 * yet.
 */
export function secondTries(baseUrls: readonly string[], token?: string): SecondTries {
  const gateways = baseUrls.map((baseUrl) => oneTryClient(baseUrl, token));
  const failed: string[] = [];
  let turn = 0;
  let keys = 0;
  let repeated = 0;
  let underWay = 0;

  const ask = async <Body>(at: number, method: string, path: string, sent: Sent): Promise<Try<Body>> => {
    try {
      return { answer: await (gateways[at % gateways.length] as HttpClient).call<Body>(method, path, sent) };
    } catch (thrown) {
      return { thrown };
    }
  };

  const askAgain = async <Body>(
    at: number,
    method: string,
    path: string,
    sent: Sent,
    first: Try<Body>,
  ): Promise<Try<Body>> => {
    const end = Date.now() + LONGEST_LEASE_MS;
    let last = first;
    for (let next = at; ; next += 1) {
      await sleep(waitOf(last));
      last = await ask<Body>(next, method, path, sent);
      if (!isKeyInUse(last) || Date.now() > end) return last;
    }
  };

  const call = async <Body>(method: string, target: string, sent: Sent = {}): Promise<Answer<Body>> => {
    const path = target.startsWith('http') ? target.replace(/^https?:\/\/[^/]+\/api/, '') : target;
    keys += 1;
    const key = method === 'POST' ? { 'idempotency-key': `second-try-${process.pid}-${keys}` } : {};
    const keyed = { ...sent, headers: { ...key, ...sent.headers } };
    turn += 1;
    const at = turn;
    const first = await ask<Body>(at, method, path, keyed);
    if ('answer' in first && isAnswered(first)) return first.answer;
    repeated += 1;
    underWay += 1;
    const second = await askAgain(at + 1, method, path, keyed, first);
    underWay -= 1;
    if (!isAnswered(second)) failed.push(`${method} ${path}: ${told(first)}, then ${told(second)}`);
    if ('answer' in second) return second.answer;
    throw second.thrown;
  };

  return {
    http: {
      call,
      sure: async <Body>(method: string, target: string, sent?: Sent) => {
        const { status, text, body } = await call<Body>(method, target, sent);
        if (status < 300) return body;
        throw new Error(`${method} ${target} answered ${status}: ${text}`);
      },
    },
    get repeated() {
      return repeated;
    },
    get underWay() {
      return underWay;
    },
    failed,
  };
}

/** Outcome of one request: an answer, of any status, or none. */
type Try<Body> = { answer: Answer<Body> } | { thrown: unknown };

function isAnswered(tried: Try<unknown>): boolean {
  return 'answer' in tried && tried.answer.status < 500 && !isKeyInUse(tried);
}

function isKeyInUse(tried: Try<unknown>): boolean {
  if (!('answer' in tried)) return false;
  return tried.answer.status === 409 && tried.answer.text.includes('idempotency_key_in_use');
}

/** Milliseconds. Clients without any answer wait as long as for `Retry-After`. */
function waitOf(tried: Try<unknown>): number {
  const seconds = 'answer' in tried ? tried.answer.headers.get('retry-after') : null;
  return 1_000 * Number(seconds ?? 1);
}

function told(tried: Try<unknown>): string {
  return 'answer' in tried ? `${tried.answer.status} ${tried.answer.text}` : String(tried.thrown);
}
