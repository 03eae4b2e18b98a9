import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '@kr/local-stack/backends';
import { TOOLCHAIN_DIR } from './run-folder.ts';

const run = promisify(execFile);

/** A program that is built from the module proxy if it is not installed. */
export interface GoProgram {
  /** File name. */
  name: string;
  /** The package to build, without version. */
  source: string;
  version: string;
  /** Arguments with which it exits at once with code 0. */
  probe: readonly string[];
  /** Further build flags. */
  flags?: readonly string[];
  /** Timeout of a build in milliseconds. */
  buildMs: number;
}

export interface FindOptions {
  /** Folder for builds and their results. */
  folder?: string;
  /** Aborts a build. */
  signal?: AbortSignal;
}

/**
 * The path of a program: on the PATH, from an earlier run, or built by Go once.
 *
 * @throws Error that names the program to install, or the reason of a failed build
 */
export async function findGoProgram(
  program: GoProgram,
  { folder = TOOLCHAIN_DIR, signal }: FindOptions = {},
): Promise<string> {
  const { name, version } = program;
  const kept = join(folder, `${name}-${version}`, name);
  for (const path of [name, kept]) if (await answers(path, program)) return path;
  await run('go', ['version']).catch((cause: unknown) => {
    throw new Error(`there is neither ${name} nor Go to build it`, { cause });
  });
  await mkdir(folder, { recursive: true });
  await withLock(join(folder, `${name}.lock`), program, signal, async () => {
    if (!(await answers(kept, program))) await build(program, folder, kept, signal);
  });
  return kept;
}

function answers(path: string, { probe }: GoProgram): Promise<boolean> {
  return run(path, [...probe]).then(
    () => true,
    () => false,
  );
}

async function build(
  { name, source, version, flags = [], buildMs }: GoProgram,
  parent: string,
  kept: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const folder = await mkdtemp(join(parent, 'build-'));
  try {
    // One processor, because tests run on this machine at the same time.
    const env = { ...process.env, GOBIN: folder, GOGC: '400', GOMAXPROCS: '1', CGO_ENABLED: '0' };
    await run('go', ['install', '-trimpath', '-ldflags=-s -w', ...flags, `${source}@v${version}`], {
      env,
      timeout: buildMs,
      ...(signal === undefined ? {} : { signal }),
    });
    await mkdir(dirname(kept), { recursive: true });
    await rename(join(folder, name), kept);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One process at a time; the lock of one that has died is taken over. */
async function withLock(
  path: string,
  { name, buildMs }: GoProgram,
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
    timeoutMs: buildMs * 2,
    what: `the ${name} that another process builds`,
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
