import { randomUUID } from 'node:crypto';
import { until } from '@kr/testbed';
import type { Answer, HttpClient, Sent } from './http-client.ts';

/** The temporary errors while parts of the system are down; all others are defects of the system. */
const PASSING = new Set([409, 429, 503]);

export interface PersistentClient {
  /**
   * Repeats a request until there is a final answer: a success, or a permanent refusal.
   * @throws Error if no final answer arrives in time, two minutes by default
   */
  insist<Body = unknown>(method: string, target: string, sent?: Sent): Promise<Answer<Body>>;
  /** Answers other than success, refusal and temporary errors. */
  broken: string[];
}

/** A client as every one should be: it repeats what was not answered. */
export function persistentClient(client: HttpClient, timeoutMs = 120_000): PersistentClient {
  const broken: string[] = [];
  return {
    broken,
    insist: <Body>(method: string, target: string, sent?: Sent) =>
      until(
        async () => {
          const answer = await client.call<Body>(method, target, sent);
          if (answer.status >= 500 && !PASSING.has(answer.status)) {
            broken.push(`${method} ${target}: ${answer.status} ${answer.text}`);
          }
          return answer.status < 500 && !PASSING.has(answer.status) ? answer : undefined;
        },
        { timeoutMs, everyMs: 100, what: `an answer to ${method} ${target}` },
      ),
  };
}

/**
 * A client for the preparation of a story: it requires success, and names each creation, which it may have to repeat after
 * a lost answer. @throws Error when it is refused
 */
export function insistentClient(client: HttpClient, patient = persistentClient(client)): HttpClient {
  return {
    call: client.call,
    sure: async <Body>(method: string, target: string, sent?: Sent) => {
      const { status, text, body } = await patient.insist<Body>(method, target, named(method, sent));
      if (status < 300) return body;
      throw new Error(`${method} ${target} answered ${status}: ${text}`);
    },
  };
}

function named(method: string, sent: Sent = {}): Sent {
  if (method !== 'POST') return sent;
  return { ...sent, headers: { 'idempotency-key': randomUUID(), ...sent.headers } };
}
