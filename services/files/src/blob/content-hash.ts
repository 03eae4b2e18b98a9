import { createHash, type Hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';

/** The digests of an object's bytes, in lower-case hexadecimal digits. */
export interface Digests {
  md5: string;
  sha256: string;
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
  /** Excludes this hash from the load of its threads: it is only copied from now on. */
  pause(): void;
  /** Ends the use of this hash; may be called twice. */
  drop(): void;
}

/** @param expectedBytes the declared number, if known */
export type NewContentHash = (expectedBytes?: number) => ContentHash;

type DigestName = keyof Digests;

/** Some digests of bytes while they pass, computed in the thread that calls. */
export interface LocalHash {
  update(bytes: Uint8Array): void;
  copy(): LocalHash;
  digests(): Partial<Digests>;
}

export function localHash(names: readonly DigestName[]): LocalHash {
  const newHash = (name: 'md5' | 'sha256') => (names.includes(name) ? createHash(name) : undefined);
  return hashFrom(newHash('md5'), newHash('sha256'), names.includes('crc32') ? 0 : undefined);
}

function hashFrom(md5: Hash | undefined, sha256: Hash | undefined, first: number | undefined): LocalHash {
  let crc = first;
  return {
    update: (bytes) => {
      md5?.update(bytes);
      sha256?.update(bytes);
      if (crc !== undefined) crc = crc32(bytes, crc);
    },
    copy: () => hashFrom(md5?.copy(), sha256?.copy(), crc),
    digests: () => ({
      ...(md5 !== undefined && { md5: md5.copy().digest('hex') }),
      ...(sha256 !== undefined && { sha256: sha256.copy().digest('hex') }),
      ...(crc !== undefined && { crc32: crc }),
    }),
  };
}

/** The first message of a hash to its thread; later messages use the port. */
export interface NewHash {
  names: readonly DigestName[];
  port: MessagePort;
}

/** Bytes are answered with null, `digests` with them; a copy has no answer. */
export type HashRequest = Uint8Array | 'digests' | { copyTo: MessagePort };
export type HashAnswer = Partial<Digests> | null;

/** Below this size hashing in the calling thread is faster than passing the bytes to another thread. */
const MAX_INLINE_BYTES = 262_144;

/** The digests of each thread take about as long. */
const SHARES: readonly DigestName[][] = [['md5'], ['sha256', 'crc32']];

/**
 * Creates hashes. Those of more than a few bytes are computed in two threads, and fail as `unavailable` when one of
 * these ends.
 */
export function contentHashes(logger: Logger): NewContentHash {
  const nextThread = hashThreads(logger);
  return (expectedBytes = Number.POSITIVE_INFINITY) =>
    expectedBytes <= MAX_INLINE_BYTES
      ? inlineHash(localHash(SHARES.flat()))
      : workerHash(SHARES.map((names) => nextThread().start(names)));
}

function inlineHash(hash: LocalHash): ContentHash {
  return {
    update: async (bytes) => hash.update(bytes),
    copy: () => inlineHash(hash.copy()),
    digests: async () => hash.digests() as Digests,
    pause: () => {},
    drop: () => {},
  };
}

/** A hash whose digests are computed in different threads. */
function workerHash(parts: readonly HashPart[]): ContentHash {
  return {
    update: async (bytes) => {
      const shared = bytes.buffer instanceof SharedArrayBuffer ? bytes : sharedCopy(bytes);
      await all(parts.map((part) => part.send(shared)));
    },
    copy: () => workerHash(parts.map((part) => part.copy())),
    digests: async () => Object.assign({}, ...(await all(parts.map((part) => part.send('digests'))))),
    pause: () => {
      for (const part of parts) part.pause();
    },
    drop: () => {
      for (const part of parts) part.drop();
    },
  };
}

function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** As `Promise.all`, but when it fails nothing is running any more. */
async function all<Answer>(answers: readonly Promise<Answer>[]): Promise<Answer[]> {
  await Promise.allSettled(answers);
  return Promise.all(answers);
}

/** Some digests of a hash, computed in one thread. */
interface HashPart {
  /** @throws ServiceError `unavailable`: the thread has ended */
  send(request: Uint8Array | 'digests'): Promise<HashAnswer>;
  copy(): HashPart;
  pause(): void;
  drop(): void;
}

interface HashThread {
  start(names: readonly DigestName[]): HashPart;
  /** The number of hashes that are neither paused nor dropped. */
  inUse: number;
  isGone: boolean;
}

const MAX_THREADS = 4;

/**
 * One thread for each processor but one, and two at least, started when they are first needed; returns the one with the
 * fewest hashes.
 */
function hashThreads(logger: Logger): () => HashThread {
  const maxThreads = Math.max(2, Math.min(MAX_THREADS, availableParallelism() - 1));
  let threads: HashThread[] = [];
  return () => {
    threads = threads.filter(({ isGone }) => !isGone);
    const isBusy = threads.every(({ inUse }) => inUse > 0);
    if (isBusy && threads.length < maxThreads) threads.push(startThread(logger));
    return threads.reduce((idlest, thread) => (thread.inUse < idlest.inUse ? thread : idlest));
  };
}

function startThread(logger: Logger): HashThread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), {
    // Node options of the process do not suit a thread with one task.
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
  });
  worker.on('error', (err) => logger.error({ err }, 'a hashing thread has ended'));
  worker.unref();
  const thread: HashThread = {
    inUse: 0,
    isGone: false,
    start: (names) =>
      hashPart(thread, (port) => worker.postMessage({ names, port } satisfies NewHash, [port])),
  };
  worker.on('exit', () => {
    thread.isGone = true;
  });
  return thread;
}

/** @param connect passes the other end of its channel to the thread */
function hashPart(thread: HashThread, connect: (port: MessagePort) => void): HashPart {
  const { port1: port, port2 } = new MessageChannel();
  const waiting: PromiseWithResolvers<HashAnswer>[] = [];
  let isDropped = false;
  let isClosed = false;
  let isInUse = true;
  thread.inUse += 1;
  const endUse = () => {
    if (isInUse) thread.inUse -= 1;
    isInUse = false;
  };
  port.on('message', (answer: HashAnswer) => waiting.shift()?.resolve(answer));
  port.on('close', () => {
    isClosed = true;
    endUse();
    if (!isDropped) thread.isGone = true;
    for (const { reject } of waiting.splice(0)) reject(hashLost());
  });
  port.unref();
  connect(port2);
  const part: HashPart = {
    send: async (request) => {
      if (isClosed) throw hashLost();
      const answer = Promise.withResolvers<HashAnswer>();
      waiting.push(answer);
      port.postMessage(request satisfies HashRequest);
      return answer.promise;
    },
    copy: () =>
      isClosed
        ? part
        : hashPart(thread, (copyTo) => port.postMessage({ copyTo } satisfies HashRequest, [copyTo])),
    pause: endUse,
    drop: () => {
      isDropped = true;
      endUse();
      port.close();
    },
  };
  return part;
}

function hashLost(): ServiceError {
  return new ServiceError('unavailable', 'The bytes could not be hashed just now.', { retryAfterMs: 1_000 });
}
