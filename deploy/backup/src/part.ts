import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';

/** A file of a backup. */
export interface Part {
  /** Below the folder of the backup, with `/`. */
  path: string;
  bytes: number;
  sha256: string;
}

/** Writes one, for its owner only; compressed where its name ends in `.gz`. Durable when it resolves. */
export async function writePart(
  folder: string,
  path: string,
  source: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
): Promise<Part> {
  const file = join(folder, path);
  const hash = createHash('sha256');
  const size = { bytes: 0 };
  await mkdir(dirname(file), { recursive: true });
  await pipeline(
    source,
    path.endsWith('.gz') ? createGzip({ level: 1 }) : new PassThrough(),
    measuring(hash, size),
    createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }),
  );
  return { path, bytes: size.bytes, sha256: hash.digest('hex') };
}

/** The uncompressed contents. */
export function readPart(folder: string, path: string): NodeJS.ReadableStream {
  const raw = createReadStream(join(folder, path));
  if (!path.endsWith('.gz')) return raw;
  const unpacked = createGunzip();
  raw.once('error', (error) => unpacked.destroy(error));
  return raw.pipe(unpacked);
}

/** The damage of a part; undefined if it is intact. */
export async function problemOfPart(
  folder: string,
  { path, bytes, sha256 }: Part,
): Promise<string | undefined> {
  const found = await digestFile(join(folder, path), 'sha256');
  if (found === undefined) return `${path} is missing`;
  return found.bytes === bytes && found.digest === sha256 ? undefined : `${path} is damaged`;
}

/** Undefined when there is no such file. */
export async function digestFile(
  file: string,
  algorithm: string,
): Promise<{ bytes: number; digest: string } | undefined> {
  const hash = createHash(algorithm);
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1_048_576 })) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return { bytes, digest: hash.digest('hex') };
}

/** For `catch`: turns the error about a file that does not exist into undefined. */
export function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function measuring(hash: Hash, size: { bytes: number }): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size.bytes += chunk.length;
      done(null, chunk);
    },
  });
}
