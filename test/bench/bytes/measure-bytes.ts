import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { JsonClient } from '../json-client.ts';
import { median, runRound } from '../load.ts';
import { publishRecord } from '../scenarios/deposit.ts';
import type { ByteClient } from './byte-client.ts';
import { copyByTools, startStaticServer } from './plain-tools.ts';
import { growthDuring } from './resident-memory.ts';
import { startUploads } from './start-uploads.ts';

/** One way to move bytes, in turn with another that moves the same; in MB a second. */
export interface SpeedComparison {
  name: string;
  than: string;
  ours: number[];
  theirs: number[];
  /** Median over the pairs of ours ÷ theirs. */
  ratio: number;
}

/** Requests beside uploads, in turn with the same requests alone; in milliseconds. */
export interface BesideUploads {
  name: string;
  quiet: number[];
  beside: number[];
  /** Median over the pairs of beside ÷ quiet. */
  ratio: number;
  failed: number;
}

/** Maximum additional memory of each process during concurrent transfers, in bytes. */
export interface MemoryGrowth {
  name: string;
  transfers: number;
  bytesEach: number;
  growth: Record<string, number>;
}

export interface ByteMeasurements {
  speeds: SpeedComparison[];
  latencies: BesideUploads[];
  memory: MemoryGrowth[];
}

export interface ByteBench {
  address: { baseUrl: string; token: string };
  bytes: ByteClient;
  repository: JsonClient;
  /** On the disk of the store. */
  folder: string;
  pids: () => Record<string, number>;
  rounds: number;
  seconds: number;
  fileBytes: number;
  transferBytes: number;
  say: (line: string) => void;
}

/** Bytes per PATCH: small ones, and the sizes that the docs propose. */
const CHUNKS_MIB = [8, 32];
const UPLOADS_BESIDE = 4;
const TRANSFERS = 8;
const PIECE = randomBytes(1_048_576);

type Measure = (bench: ByteBench, source: string, into: ByteMeasurements) => Promise<void>;

/** Each by its name, in this order. */
const MEASUREMENTS: Readonly<Record<string, Measure>> = {
  'bytes: upload by PUT': uploadAgainstTools,
  'bytes: upload by tus': tusAgainstPut,
  'bytes: download': downloadAgainstStatic,
  'bytes: requests beside uploads': requestsBesideUploads,
  'bytes: memory of transfers': memoryOfTransfers,
};

export function byteMeasurementsCalled(text: string): string[] {
  return Object.keys(MEASUREMENTS).filter((name) => name.includes(text));
}

export async function measureBytes(bench: ByteBench, names: readonly string[]): Promise<ByteMeasurements> {
  const into: ByteMeasurements = { speeds: [], latencies: [], memory: [] };
  const source = join(bench.folder, 'source.bin');
  await pipeline(piecesOf(bench.fileBytes), createWriteStream(source));
  for (const name of names) {
    bench.say(`${name} …`);
    await MEASUREMENTS[name]?.(bench, source, into);
  }
  return into;
}

async function uploadAgainstTools(bench: ByteBench, source: string, into: ByteMeasurements): Promise<void> {
  let copies = 0;
  const compared = await compareSpeeds(bench, {
    ours: async () => {
      const file = await bench.bytes.newFile();
      return () => bench.bytes.put(file, source, bench.fileBytes);
    },
    theirs: async () => {
      copies += 1;
      const copy = join(bench.folder, `copy-${copies}.bin`);
      return () => copyByTools(source, copy);
    },
  });
  into.speeds.push({ name: 'upload by PUT', than: 'md5sum, cp and fsync', ...compared });
}

async function tusAgainstPut(bench: ByteBench, source: string, into: ByteMeasurements): Promise<void> {
  const { bytes, fileBytes } = bench;
  for (const chunkMib of CHUNKS_MIB) {
    const compared = await compareSpeeds(bench, {
      ours: async () => {
        const file = await bytes.newFile();
        return () => bytes.resume(file, source, fileBytes, chunkMib * 1_048_576);
      },
      theirs: async () => {
        const file = await bytes.newFile();
        return () => bytes.put(file, source, fileBytes);
      },
    });
    into.speeds.push({ name: `upload by tus, ${chunkMib} MiB chunks`, than: 'upload by PUT', ...compared });
  }
}

async function downloadAgainstStatic(
  bench: ByteBench,
  source: string,
  into: ByteMeasurements,
): Promise<void> {
  const { bytes, fileBytes } = bench;
  const file = await bytes.newFile();
  await bytes.put(file, source, fileBytes);
  const content = await bytes.publish(file);
  const server = await startStaticServer(bench.folder);
  const whole = async (url: string) => {
    const come = await bytes.drain(url);
    if (come !== fileBytes) throw new Error(`${url} gave ${come} bytes instead of ${fileBytes}`);
  };
  try {
    const compared = await compareSpeeds(bench, {
      ours: async () => () => whole(content),
      theirs: async () => () => whole(server.urlOf(source)),
    });
    into.speeds.push({ name: 'download', than: `${server.name}, the same file`, ...compared });
  } finally {
    server.stop();
  }
}

async function requestsBesideUploads(
  { address, repository, rounds, seconds, fileBytes, say }: ByteBench,
  source: string,
  into: ByteMeasurements,
): Promise<void> {
  const { id } = await publishRecord(repository, 'Read beside uploads');
  const load = {
    request: () => repository.drain('GET', `/api/records/${id}`),
    concurrency: 2,
    seconds,
    cpu: () => 0,
  };
  const [quiet, beside]: [number[], number[]] = [[], []];
  let failed = 0;
  for (let pair = 0; pair <= rounds; pair += 1) {
    const alone = await runRound(load);
    const { round, uploads } = await besideUploads();
    if (pair === 0) continue;
    quiet.push(alone.p99);
    beside.push(round.p99);
    failed += alone.failed + round.failed;
    say(`  p99 ${alone.p99.toFixed(1)} ms, beside ${uploads} uploads ${round.p99.toFixed(1)} ms`);
  }
  const ratio = median(beside.map((p99, index) => p99 / (quiet[index] ?? p99)));
  into.latencies.push({
    name: `GET published record, its owner, beside ${UPLOADS_BESIDE} uploads`,
    quiet,
    beside,
    ratio,
    failed,
  });

  async function besideUploads() {
    const end = await startUploads({ ...address, source, fileBytes, atOnce: UPLOADS_BESIDE });
    const measuring = runRound(load);
    // Whether it fails or not.
    const uploads = await measuring.then(end, end);
    return { round: await measuring, uploads };
  }
}

async function memoryOfTransfers(
  { bytes, pids, transferBytes, say }: ByteBench,
  _source: string,
  into: ByteMeasurements,
): Promise<void> {
  const files = await Promise.all(Array.from({ length: TRANSFERS }, () => bytes.newFile()));
  const measured = async (
    name: string,
    transfer: (file: string) => Promise<unknown>,
    of: readonly string[],
  ) => {
    const growth = await growthDuring(pids(), () => Promise.all(of.map(transfer)));
    const told = Object.entries(growth).map(([part, more]) => `${part} ${(more / 1_048_576).toFixed(0)} MiB`);
    say(`  ${name}: ${told.join(', ')}`);
    into.memory.push({ name, transfers: of.length, bytesEach: transferBytes, growth });
  };
  await measured('uploads', (file) => bytes.put(file, piecesOf(transferBytes), transferBytes), files);
  const contents = await Promise.all(files.map((file) => bytes.publish(file)));
  await measured('downloads', (content) => bytes.drain(content), contents);
}

interface Sides {
  /** Prepares a round, unmeasured, and gives what is measured. */
  ours(): Promise<() => Promise<void>>;
  theirs(): Promise<() => Promise<void>>;
}

/** A B A B …; the first pair warms both sides up and is not counted. */
async function compareSpeeds(
  { folder, rounds, fileBytes, say }: ByteBench,
  sides: Sides,
): Promise<Pick<SpeedComparison, 'ours' | 'theirs' | 'ratio'>> {
  const speed = async (prepare: Sides['ours']) => {
    const move = await prepare();
    await leaveMemory(folder, 2 * fileBytes);
    const begin = performance.now();
    await move();
    return fileBytes / 1_000 / (performance.now() - begin);
  };
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let pair = 0; pair <= rounds; pair += 1) {
    const [our, their] = [await speed(sides.ours), await speed(sides.theirs)];
    if (pair === 0) continue;
    ours.push(our);
    theirs.push(their);
    say(`  ${our.toFixed(0)} MB/s, the other ${their.toFixed(0)} MB/s`);
  }
  return { ours, theirs, ratio: median(ours.map((our, index) => our / (theirs[index] ?? our))) };
}

/**
 * Writes and removes a file, so that its memory was just released. A virtual machine has to request
 * memory from its host, which is slower than writing: both sides must be affected equally.
 */
async function leaveMemory(folder: string, bytes: number): Promise<void> {
  const room = join(folder, 'room.bin');
  await pipeline(piecesOf(bytes), createWriteStream(room));
  await rm(room);
}

function* piecesOf(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= PIECE.length)
    yield PIECE.subarray(0, Math.min(left, PIECE.length));
}
