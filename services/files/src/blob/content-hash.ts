import { createHash, type Hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';

/** The digests of an object's bytes, in lower-case hexadecimal digits. */
export interface Digests {
  md5: string;
  /** Null where it was not computed. */
  sha256: string | null;
  /** 32 bits, unsigned. */
  crc32: number;
}

/** The digests of bytes while they pass. */
export interface ContentHash {
  /** Resolves when the bytes may change. They count in the order of the calls. */
  update(bytes: Uint8Array): Promise<void>;
  /** An independent hash after the same bytes. */
  copy(): ContentHash;
  digests(): Promise<Digests>;
  /** Ends the use of this hash; may be called twice. */
  drop(): void;
}

/** @param expectedBytes the declared number, if known */
export type NewContentHash = (expectedBytes?: number) => ContentHash;

type DigestName = keyof Digests;

/** Some digests of bytes while they pass, computed where this is called. */
export interface LocalHash {
  update(bytes: Uint8Array): void;
  copy(): LocalHash;
  digests(): Partial<Digests>;
}

export function localHash(names: readonly DigestName[]): LocalHash {
  const begun = (name: 'md5' | 'sha256') => (names.includes(name) ? createHash(name) : undefined);
  return hashFrom({
    md5: begun('md5'),
    sha256: begun('sha256'),
    crc: names.includes('crc32') ? 0 : undefined,
  });
}

/** The hashes that are wanted, after the same bytes. */
interface Hashes {
  md5: Hash | undefined;
  sha256: Hash | undefined;
  crc: number | undefined;
}

function hashFrom({ md5, sha256, crc: first }: Hashes): LocalHash {
  let crc = first;
  return {
    update: (bytes) => {
      md5?.update(bytes);
      sha256?.update(bytes);
      if (crc !== undefined) crc = crc32(bytes, crc);
    },
    copy: () => hashFrom({ md5: md5?.copy(), sha256: sha256?.copy(), crc }),
    digests: () => ({
      ...(md5 !== undefined && { md5: md5.copy().digest('hex') }),
      ...(sha256 !== undefined && { sha256: sha256.copy().digest('hex') }),
      ...(crc !== undefined && { crc32: crc }),
    }),
  };
}

/** Requests to a hashing thread, about hashes by number. */
export type HashRequest =
  | { what: 'begin'; hash: number; of: readonly DigestName[] }
  | { what: 'drop' | 'digests'; hash: number }
  | { what: 'copy'; hash: number; into: number }
  | { what: 'update'; hash: number; bytes: Uint8Array };

/** The answers to `update` and `digests`, in their order; no other request has one. */
export type HashAnswer = Partial<Digests> | null;

/** Below this size hashing here is faster than passing the bytes to another thread. */
const FEW_BYTES = 262_144;

const MOST_THREADS = 4;

/**
 * Makes hashes that are all of the same digests. Those of more than a few bytes are computed beside everything else, in
 * two threads that take about as long, and fail as `unavailable` when one of these ends.
 */
export function contentHashes(logger: Logger): NewContentHash {
  const shares: readonly DigestName[][] = [['md5'], ['sha256', 'crc32']];
  const thread = hashThreads(logger);
  return (expectedBytes = Number.POSITIVE_INFINITY) =>
    expectedBytes <= FEW_BYTES
      ? hashedHere(localHash(shares.flat()))
      : hashedBeside(shares.map((share) => thread().begin(share)));
}

function hashedHere(hash: LocalHash): ContentHash {
  return {
    update: async (bytes) => hash.update(bytes),
    copy: () => hashedHere(hash.copy()),
    digests: async () => together([hash.digests()]),
    drop: () => {},
  };
}

/** Some digests by each share, of the same bytes. */
function hashedBeside(shares: readonly ShareOfHash[]): ContentHash {
  return {
    update: async (bytes) => {
      const shared = bytes.buffer instanceof SharedArrayBuffer ? bytes : sharedCopy(bytes);
      await all(shares.map((share) => share.update(shared)));
    },
    copy: () => hashedBeside(shares.map((share) => share.copy())),
    digests: async () => together(await all(shares.map((share) => share.digests()))),
    drop: () => {
      for (const share of shares) share.drop();
    },
  };
}

function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

function together(shares: readonly Partial<Digests>[]): Digests {
  return Object.assign({ sha256: null }, ...shares);
}

/** As `Promise.all`, but when it fails nothing is under way any more. */
async function all<Answer>(answers: readonly Promise<Answer>[]): Promise<Answer[]> {
  await Promise.allSettled(answers);
  return Promise.all(answers);
}

/** Some digests of the bytes of a hash, computed in one thread. */
interface ShareOfHash {
  update(bytes: Uint8Array): Promise<void>;
  copy(): ShareOfHash;
  digests(): Promise<Partial<Digests>>;
  drop(): void;
}

interface HashThread {
  begin(of: readonly DigestName[]): ShareOfHash;
  /** Of hashes that are in use. */
  count(): number;
  isGone(): boolean;
}

/**
 * One thread for each processor but one, and two at least, started when they are wanted first; gives the one with the
 * least to do.
 */
function hashThreads(logger: Logger): () => HashThread {
  const most = Math.max(2, Math.min(MOST_THREADS, availableParallelism() - 1));
  let threads: HashThread[] = [];
  return () => {
    threads = threads.filter((thread) => !thread.isGone());
    const idle = threads.find((thread) => thread.count() === 0);
    if (idle === undefined && threads.length < most) threads.push(startThread(logger));
    return threads.reduce((least, thread) => (thread.count() < least.count() ? thread : least));
  };
}

interface Waiting {
  resolve(answer: HashAnswer): void;
  reject(reason: Error): void;
}

function startThread(logger: Logger): HashThread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), {
    // Node options of the process do not suit a thread with one task.
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
  });
  const inUse = new Set<number>();
  const waiting: Waiting[] = [];
  let latest = 0;
  let goneBy: Error | undefined;

  const end = (error: Error) => {
    if (goneBy !== undefined) return;
    goneBy = hashLost(error);
    logger.error({ err: error }, 'a hashing thread has ended');
    for (const { reject } of waiting.splice(0)) reject(goneBy);
  };
  worker.on('message', (answer: HashAnswer) => waiting.shift()?.resolve(answer));
  worker.on('error', end).on('exit', (code) => end(new Error(`a hashing thread has ended with ${code}`)));
  worker.unref();

  const send = (request: HashRequest) => {
    if (goneBy === undefined) worker.postMessage(request);
  };
  const ask = (request: HashRequest): Promise<HashAnswer> =>
    new Promise((resolve, reject) => {
      if (goneBy !== undefined) return reject(goneBy);
      waiting.push({ resolve, reject });
      worker.postMessage(request);
    });
  const newNumber = () => {
    latest += 1;
    inUse.add(latest);
    return latest;
  };
  const hashOf = (number: number): ShareOfHash => ({
    update: async (bytes) => void (await ask({ what: 'update', hash: number, bytes })),
    copy: () => {
      const into = newNumber();
      send({ what: 'copy', hash: number, into });
      return hashOf(into);
    },
    digests: async () => (await ask({ what: 'digests', hash: number })) ?? {},
    drop: () => {
      if (inUse.delete(number)) send({ what: 'drop', hash: number });
    },
  });
  return {
    begin: (of) => {
      const number = newNumber();
      send({ what: 'begin', hash: number, of });
      return hashOf(number);
    },
    count: () => inUse.size,
    isGone: () => goneBy !== undefined,
  };
}

function hashLost(cause: Error): ServiceError {
  return new ServiceError('unavailable', 'The bytes could not be hashed just now.', {
    retryAfterMs: 1_000,
    cause,
  });
}
