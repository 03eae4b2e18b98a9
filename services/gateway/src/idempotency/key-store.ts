import type { Logger } from '@kr/telemetry';
import type { Database } from '../database.ts';
import type { BodyCipher } from './body-cipher.ts';
import type { KeyedRequest } from './idempotency-key.ts';

/** An answer that is replayed byte by byte. */
export interface StoredResponse {
  status: number;
  /** The headers that describe the body; names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array<ArrayBuffer>;
}

/** Temporary refusals: a retry is executed again. */
const TEMPORARY = new Set([401, 408, 409, 412, 429]);

/** Whether this answer is replayed to a retry. */
export function isFinal({ status }: Pick<StoredResponse, 'status'>): boolean {
  return status < 500 && !TEMPORARY.has(status);
}

/** Milliseconds for which an answer is replayed. */
export const RETENTION_MS = 24 * 60 * 60 * 1000;

/** The largest body that is stored, in bytes. */
export const BODY_MAX_BYTES = 256 * 1024;

/** Bodies of one owner that are stored, in bytes; older ones are removed. */
export const OWNER_MAX_BYTES = 16 * 1024 * 1024;

/** Bodies of one owner that are stored; older ones are removed. */
export const OWNER_MAX_BODIES = 1_000;

/** Milliseconds after its last renewal for which an execution counts as alive. */
export const LEASE_MS = 15_000;

export type Claim =
  /** The request is the caller's to execute, under this attempt. */
  | { is: 'ours' }
  | { is: 'running' }
  | { is: 'answered'; answer: StoredResponse }
  /** It was answered, but the body was too large, or removed for newer ones. */
  | { is: 'not_stored'; status: number; location: string | undefined }
  /** It was answered, but the answer cannot be decrypted: the secret has changed. */
  | { is: 'lost' }
  /** The key was used for something else. */
  | { is: 'another' };

/**
 * Keys in the gateway's database, which all its replicas share. Its primary key decides who executes, and its clock when
 * a lease or a key has expired: the clocks of replicas may differ.
 */
export interface KeyStore {
  /** Leases a key that is free, was released, or has expired. */
  claim(request: KeyedRequest, attempt: string): Promise<Claim>;
  /** Extends the lease of the attempt. */
  renew(request: KeyedRequest, attempt: string): Promise<void>;
  /**
   * Stores the answer, unless another attempt has taken over. Of a body over `BODY_MAX_BYTES` only status and headers are
   * stored. Removes the owner's oldest bodies beyond `OWNER_MAX_BYTES` and `OWNER_MAX_BODIES`.
   */
  store(request: KeyedRequest, attempt: string, answer: StoredResponse): Promise<void>;
  /** Frees the key, unless another attempt has taken over. */
  release(request: KeyedRequest, attempt: string): Promise<void>;
  /** Removes keys whose time is over, not more than a batch. Returns how many. */
  sweep(): Promise<number>;
}

const BATCH = 1_000;

/** Encrypted bodies are never empty. */
const NOT_STORED = new Uint8Array();

export function keyStore(database: Database, cipher: BodyCipher): KeyStore {
  return {
    claim: async (request, attempt) => {
      for (;;) {
        if (await lease(database, request, attempt)) return { is: 'ours' };
        const row = await find(database, request, cipher);
        if (row !== undefined) return row;
        // It was released between the two statements.
      }
    },
    renew: async ({ hash }, attempt) => {
      await database.$executeRaw`
        update idempotency_key set leased_until = now() + ${LEASE_MS} * interval '1 ms'
        where hash = ${hash} and attempt = ${attempt}::uuid`;
    },
    store: async ({ owner, hash }, attempt, { status, headers, body }) => {
      const stored = body.length > BODY_MAX_BYTES ? NOT_STORED : cipher.encrypt(body);
      await database.$executeRaw`
        with answered as (
          update idempotency_key
          set status = ${status}, headers = ${JSON.stringify(headers)}::jsonb, body = ${stored}
          where hash = ${hash} and attempt = ${attempt}::uuid
        ), others as (
          select hash, sum(octet_length(body)) over newest as bytes, row_number() over newest as bodies
          from idempotency_key where owner = ${owner} and octet_length(body) > 0 and hash <> ${hash}
          window newest as (order by created_at desc, hash rows unbounded preceding)
        )
        update idempotency_key set body = ${NOT_STORED} where hash in (
          select hash from idempotency_key where hash in (
            select hash from others where bytes > ${OWNER_MAX_BYTES - stored.length} or bodies >= ${OWNER_MAX_BODIES}
          )
          for update skip locked
        )`;
    },
    release: async ({ hash }, attempt) => {
      await database.idempotencyKey.deleteMany({ where: { hash, attempt } });
    },
    sweep: () => database.$executeRaw`
      delete from idempotency_key where hash in (
        select hash from idempotency_key where created_at <= now() - ${RETENTION_MS} * interval '1 ms' limit ${BATCH}
        for update skip locked
      )`,
  };
}

/** One statement, so that of any number of requests at once one gets the key. */
async function lease(
  database: Database,
  { owner, hash, fingerprint }: KeyedRequest,
  attempt: string,
): Promise<boolean> {
  const count = await database.$executeRaw`
    insert into idempotency_key as row (owner, hash, fingerprint, attempt, leased_until, created_at)
    values (${owner}, ${hash}, ${fingerprint}, ${attempt}::uuid, now() + ${LEASE_MS} * interval '1 ms', now())
    on conflict (hash) do update
      set owner = excluded.owner, fingerprint = excluded.fingerprint, attempt = excluded.attempt, leased_until = excluded.leased_until,
        created_at = excluded.created_at, status = null, headers = null, body = null
      where row.created_at <= now() - ${RETENTION_MS} * interval '1 ms'
        or (row.status is null and row.leased_until <= now() and row.fingerprint = excluded.fingerprint)`;
  return count === 1;
}

async function find(
  database: Database,
  { hash, fingerprint }: KeyedRequest,
  cipher: BodyCipher,
): Promise<Exclude<Claim, { is: 'ours' }> | undefined> {
  const row = await database.idempotencyKey.findUnique({ where: { hash } });
  if (row === null) return undefined;
  if (Buffer.compare(row.fingerprint, fingerprint) !== 0) return { is: 'another' };
  const { status } = row;
  if (status === null || row.body === null) return { is: 'running' };
  const headers = row.headers as Record<string, string>;
  if (row.body.length === 0) return { is: 'not_stored', status, location: headers['location'] };
  const body = cipher.decrypt(row.body);
  if (body === undefined) return { is: 'lost' };
  return { is: 'answered', answer: { status, headers, body } };
}

const EVERY_MS = 10 * 60 * 1000;

/** Removes keys whose time is over, now and then, until stopped. */
export function deleteExpiredKeys(keys: Pick<KeyStore, 'sweep'>, logger: Logger): { stop(): void } {
  const sweep = async (): Promise<void> => {
    while ((await keys.sweep()) > 0);
  };
  const timer = setInterval(
    () => void sweep().catch((err: unknown) => logger.warn({ err }, 'idempotency keys not deleted')),
    EVERY_MS,
  );
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
