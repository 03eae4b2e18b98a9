import { Pool } from 'undici';
import { comingBack } from '../e2e/story/come-back.ts';
import type { Sent } from '../e2e/story/http-client.ts';

export interface ChangeLog {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** The credentials of a caller. */
export interface Credentials {
  token?: string | undefined;
  /** Of an access link, in the query. */
  link?: string | undefined;
}

/** Plain HTTP over a few lasting connections, for very many requests. */
export interface ManyRequests {
  /** `target` is a path from the root. */
  ask(method: string, target: string, by?: Credentials, sent?: Sent): Promise<ChangeLog>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 120_000;
const AT_ONCE = 16;

/** `see` is given every answer. */
export function manyRequests(
  baseUrl: string,
  see: (method: string, target: string, told: ChangeLog) => void,
): ManyRequests {
  const pool = new Pool(baseUrl, {
    connections: AT_ONCE,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });
  return {
    async ask(method, target, { token, link } = {}, { json, bytes, raw, headers: further } = {}) {
      const path =
        link === undefined
          ? target
          : `${target}${target.includes('?') ? '&' : '?'}token=${encodeURIComponent(link)}`;
      const content = json === undefined ? (bytes ?? raw) : JSON.stringify(json);
      const type = bytes === undefined ? 'application/json' : 'application/octet-stream';
      const once = async (): Promise<ChangeLog> => {
        const { statusCode, headers, body } = await pool.request({
          method: method as 'GET',
          path,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(content === undefined ? {} : { 'content-type': type }),
            ...further,
          },
          ...(content === undefined ? {} : { body: content }),
        });
        const text = Buffer.from(await body.arrayBuffer()).toString('latin1');
        const told = { status: statusCode, headers, text };
        see(method, target, told);
        return told;
      };
      return comingBack(once, ({ headers }) => headers['retry-after']?.toString());
    },
    close: () => pool.destroy(),
  };
}

/** Does work on all items, some at once, and gives the results in their order. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  atOnce = AT_ONCE,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const waiting = items.entries();
  const turns = Array.from({ length: atOnce }, async () => {
    for (const [at, item] of waiting) results[at] = await work(item);
  });
  await Promise.all(turns);
  return results;
}
