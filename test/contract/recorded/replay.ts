import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { comingBack } from '../../e2e/story/come-back.ts';
import { type Answer, asObject, differences, type Expect } from './compare.ts';
import type { KnownIds } from './known-ids.ts';
import type { Exchange } from './transcript.ts';

interface Callers {
  owner: string;
  other: string;
  admin: string;
}

/** Sends requests in the names of the recorded callers. */
export interface Player {
  baseUrl: string;
  ids: KnownIds;
  send(exchange: Pick<Exchange, 'method' | 'target' | 'headers' | 'body'>): Promise<Answer>;
  /** As the owner, a JSON body; the answer must be a success. `target` may hold recorded identifiers. */
  sure(method: string, target: string, json?: unknown, caller?: keyof Callers): Promise<unknown>;
  /** As `sure`, for the content of a file. */
  put(target: string, content: string): Promise<void>;
}

const PLACEHOLDER = /^Bearer <(\w+)>$/;

export function player(baseUrl: string, tokens: Callers, ids: KnownIds): Player {
  const byName: Readonly<Record<string, string>> = { ...tokens, anon: 'no-token-of-anybody' };
  const sendOnce: Player['send'] = async ({ method, target, headers, body }) => {
    const caller = PLACEHOLDER.exec(headers['authorization'] ?? '')?.[1];
    const { authorization: _, ...others } = headers;
    const answer = await fetch(`${baseUrl}${withOurToken(ids.translate(target), ids)}`, {
      method,
      headers: {
        ...others,
        ...(caller === undefined ? {} : { authorization: `Bearer ${byName[caller] ?? caller}` }),
      },
      ...(body === undefined ? {} : { body: ids.translate(body) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true && text !== '';
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      json: isJson ? JSON.parse(text) : undefined,
    };
  };
  const send: Player['send'] = (request) =>
    comingBack(
      () => sendOnce(request),
      (told) => told.headers['retry-after'],
    );
  const sureOf = async (request: Parameters<typeof send>[0]): Promise<unknown> => {
    const { status, json } = await send(request);
    if (status < 300) return json;
    throw new Error(`${request.method} ${request.target} answered ${status}: ${JSON.stringify(json)}`);
  };
  return {
    baseUrl,
    ids,
    send,
    sure: (method, target, json, caller = 'owner') =>
      sureOf({
        method,
        target: `/api${target}`,
        headers: {
          authorization: `Bearer <${caller}>`,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: json === undefined ? undefined : JSON.stringify(json),
      }),
    async put(target, content) {
      const headers = { authorization: 'Bearer <owner>', 'content-type': 'application/octet-stream' };
      await sureOf({ method: 'PUT', target: `/api${target}`, headers, body: content });
    },
  };
}

// The original's tokens name the link that they are of.
function withOurToken(target: string, ids: KnownIds): string {
  const [path, token] = target.split('?token=');
  if (token === undefined) return target;
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  const link = asObject(JSON.parse(payload))?.['id'];
  return `${path}?token=${ids.ours(`token of ${link}`) ?? 'of-a-link-that-is-not-known'}`;
}

/** How long a listing may take to show what was written before, on the slowest machine. */
const LISTING_DELAY_MS = 30_000;

/** What a link opens may be remembered this long after it was changed or revoked. */
const LINK_MEMORY_MS = 1000;

/**
 * Plays one exchange and tells how its answer differs; a listing that differs otherwise than intended is repeated while
 * it may lag behind. Undefined: what will differ is not known.
 */
export async function play(
  exchange: Exchange,
  by: Player,
  expect: Expect,
  intended: readonly string[] | undefined,
): Promise<string[]> {
  const end = Date.now() + (isListing(exchange) && intended !== undefined ? LISTING_DELAY_MS : 0);
  for (;;) {
    const answer = await by.send(exchange);
    const found = differences(exchange, answer, by.ids, expect);
    if (isDeepStrictEqual(found, intended) || Date.now() >= end) {
      learnTokens(exchange.answer.json, answer.json, by.ids);
      if (changesLink(exchange)) await delay(LINK_MEMORY_MS);
      return found;
    }
    await delay(100);
  }
}

function isListing({ method, answer }: Exchange): boolean {
  return method === 'GET' && asObject(answer.json)?.['hits'] !== undefined;
}

function changesLink({ method, target }: Exchange): boolean {
  return (method === 'PATCH' || method === 'DELETE') && target.includes('/access/links/');
}

function learnTokens(recorded: unknown, ours: unknown, ids: KnownIds): void {
  const [link, own] = [asObject(recorded), asObject(ours)];
  if (typeof link?.['token'] === 'string' && typeof own?.['token'] === 'string') {
    ids.learn(String(link['id']), String(own['id']));
    ids.learn(`token of ${link['id']}`, own['token']);
  }
}
