import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '@kr/local-stack/backends';
import { TOOLCHAIN_DIR } from '../run-folder.ts';

const run = promisify(execFile);
const PINNED = '1.8.0';
const BUILD_MS = 900_000;

export interface FindS3ServerOptions {
  /** Where what was built is kept, and built. */
  folder?: string;
  /** Gives a build up. */
  signal?: AbortSignal;
}

/**
 * The path of VersityGW, an S3 server over a folder: on the PATH, or kept from an earlier run, or built by Go, once.
 *
 * @throws Error that says what to install when there is none, or why it could not be built
 */
export async function findS3Server({
  folder = TOOLCHAIN_DIR,
  signal,
}: FindS3ServerOptions = {}): Promise<string> {
  const kept = join(folder, `versitygw-${PINNED}`, 'versitygw');
  for (const path of ['versitygw', kept]) if (await answers(path)) return path;
  await run('go', ['version']).catch((cause: unknown) => {
    throw new Error('there is neither versitygw nor Go to build it', { cause });
  });
  await mkdir(folder, { recursive: true });
  await withLock(join(folder, 'versitygw.lock'), signal, async () => {
    if (!(await answers(kept))) await build(folder, kept, signal);
  });
  return kept;
}

function answers(path: string): Promise<boolean> {
  return run(path, ['--version']).then(
    () => true,
    () => false,
  );
}

/** With the lowest priority, so that the tests beside it are not late. */
async function build(parent: string, kept: string, signal: AbortSignal | undefined): Promise<void> {
  const folder = await mkdtemp(join(parent, 'build-'));
  try {
    const env = { ...process.env, GOBIN: folder, GOGC: '400', CGO_ENABLED: '0' };
    const module = `github.com/versity/versitygw/cmd/versitygw@v${PINNED}`;
    const building = run('go', ['install', '-trimpath', '-ldflags=-s -w', module], {
      env,
      timeout: BUILD_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    if (building.child.pid !== undefined) setPriority(building.child.pid, constants.priority.PRIORITY_LOW);
    await building;
    await mkdir(dirname(kept), { recursive: true });
    await rename(join(folder, 'versitygw'), kept);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One process at a time; the lock of one that has died is taken over. */
async function withLock(
  path: string,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  let isTaken = false;
  const isOver = async () => {
    if (signal?.aborted === true) return true;
    isTaken = await take(path);
    return isTaken;
  };
  await until(isOver, {
    timeoutMs: BUILD_MS * 2,
    what: 'the S3 server that another process builds',
  });
  try {
    signal?.throwIfAborted();
    await work();
  } finally {
    if (isTaken) await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(String(process.pid)).finally(() => file.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    if (holder > 0 && !isAlive(holder)) await rm(path, { force: true });
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
