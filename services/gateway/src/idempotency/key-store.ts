import type { Database } from '../identity/prisma.ts';
import type { KeyedRequest } from './idempotency-key.ts';
import type { KeptAnswer } from './kept-answer.ts';
import type { BodySeal } from './sealed-body.ts';

/** How long an answer is given again, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60 * 1000;

/** How long an execution counts as alive after it was last heard of, in milliseconds. */
export const LEASE_MS = 15_000;

export type Claim =
  /** The request is the caller's to execute, under this attempt. */
  | { is: 'ours' }
  | { is: 'running' }
  | { is: 'answered'; answer: KeptAnswer }
  /** It was answered, but nobody can read how: the secret is another one now. */
  | { is: 'lost' }
  /** The key was used for something else. */
  | { is: 'another' };

/**
 * Keys in the gateway's database, which all its replicas share. Its primary key decides who executes, and its clock when
 * a lease or a key has expired: the clocks of replicas may differ.
 */
export interface KeyStore {
  /** Takes a key that is free, was given up, or whose time is over. */
  claim(request: KeyedRequest, attempt: string): Promise<Claim>;
  /** Extends the lease of the attempt. */
  renew(request: KeyedRequest, attempt: string): Promise<void>;
  /** Stores the answer, unless another attempt has taken over. */
  keep(request: KeyedRequest, attempt: string, answer: KeptAnswer): Promise<void>;
  /** Frees the key, unless another attempt has taken over. */
  release(request: KeyedRequest, attempt: string): Promise<void>;
  /** Removes keys whose time is over, not more than a batch. Returns how many. */
  sweep(): Promise<number>;
}

const BATCH = 1_000;

export function keyStore(database: Database, seal: BodySeal): KeyStore {
  return {
    claim: async (request, attempt) => {
      for (;;) {
        if (await take(database, request, attempt)) return { is: 'ours' };
        const held = await find(database, request, seal);
        if (held !== undefined) return held;
        // It was released between the two statements.
      }
    },
    renew: async ({ hash }, attempt) => {
      await database.$executeRaw`
        update idempotency_key set leased_until = now() + ${LEASE_MS} * interval '1 ms'
        where hash = ${hash} and attempt = ${attempt}::uuid`;
    },
    keep: async ({ hash }, attempt, { status, headers, body }) => {
      const data = { status, headers: { ...headers }, body: seal.seal(body) };
      await database.idempotencyKey.updateMany({ where: { hash, attempt }, data });
    },
    release: async ({ hash }, attempt) => {
      await database.idempotencyKey.deleteMany({ where: { hash, attempt } });
    },
    sweep: () => database.$executeRaw`
      delete from idempotency_key where hash in (
        select hash from idempotency_key where created_at <= now() - ${KEPT_MS} * interval '1 ms' limit ${BATCH}
        for update skip locked
      )`,
  };
}

/** One statement, so that of any number of requests at once one gets the key. */
async function take(
  database: Database,
  { hash, fingerprint }: KeyedRequest,
  attempt: string,
): Promise<boolean> {
  const taken = await database.$executeRaw`
    insert into idempotency_key as held (hash, fingerprint, attempt, leased_until, created_at)
    values (${hash}, ${fingerprint}, ${attempt}::uuid, now() + ${LEASE_MS} * interval '1 ms', now())
    on conflict (hash) do update
      set fingerprint = excluded.fingerprint, attempt = excluded.attempt, leased_until = excluded.leased_until,
        created_at = excluded.created_at, status = null, headers = null, body = null
      where held.created_at <= now() - ${KEPT_MS} * interval '1 ms'
        or (held.status is null and held.leased_until <= now() and held.fingerprint = excluded.fingerprint)`;
  return taken === 1;
}

async function find(
  database: Database,
  { hash, fingerprint }: KeyedRequest,
  seal: BodySeal,
): Promise<Exclude<Claim, { is: 'ours' }> | undefined> {
  const held = await database.idempotencyKey.findUnique({ where: { hash } });
  if (held === null) return undefined;
  if (Buffer.compare(held.fingerprint, fingerprint) !== 0) return { is: 'another' };
  const { status, headers } = held;
  if (status === null || held.body === null) return { is: 'running' };
  const body = seal.open(held.body);
  if (body === undefined) return { is: 'lost' };
  return { is: 'answered', answer: { status, headers: headers as Record<string, string>, body } };
}
