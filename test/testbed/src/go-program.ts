import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { tryLock, unlock, until } from '@kr/local-stack/backends';
import { TEST_PROGRAMS_DIR } from './run-folder.ts';

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
  { folder = TEST_PROGRAMS_DIR, signal }: FindOptions = {},
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

/** One process at a time; the lock of a process that is gone is taken over. */
async function withLock(
  path: string,
  { name, buildMs }: GoProgram,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  await until(() => signal?.aborted === true || tryLock(path), {
    timeoutMs: buildMs * 2,
    what: `the ${name} that another process builds`,
  });
  try {
    signal?.throwIfAborted();
    await work();
  } finally {
    unlock(path);
  }
}
