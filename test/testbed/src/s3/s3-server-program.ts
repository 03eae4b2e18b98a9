import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '@kr/local-stack/backends';
import { TOOLCHAIN_DIR } from '../run-folder.ts';

const run = promisify(execFile);
const PINNED = '1.8.0';
const KEPT = join(TOOLCHAIN_DIR, `versitygw-${PINNED}`, 'versitygw');
const BUILD_LOCK = join(TOOLCHAIN_DIR, 'versitygw.lock');
const BUILD_MS = 900_000;

/**
 * The path of VersityGW, an S3 server over a folder: on the PATH, or kept from an earlier run, or built by Go, once.
 *
 * @throws Error that says what to install when there is none
 */
export async function findS3Server(): Promise<string> {
  for (const path of ['versitygw', KEPT]) if (await answers(path)) return path;
  await run('go', ['version']).catch((cause: unknown) => {
    throw new Error('there is neither versitygw nor Go to build it', { cause });
  });
  await mkdir(TOOLCHAIN_DIR, { recursive: true });
  await withLock(BUILD_LOCK, async () => {
    if (!(await answers(KEPT))) await build();
  });
  return KEPT;
}

function answers(path: string): Promise<boolean> {
  return run(path, ['--version']).then(
    () => true,
    () => false,
  );
}

/** With the lowest priority, so that the tests beside it are not late. */
async function build(): Promise<void> {
  const folder = await mkdtemp(join(TOOLCHAIN_DIR, 'build-'));
  try {
    const env = { ...process.env, GOBIN: folder, GOGC: '400', CGO_ENABLED: '0' };
    const module = `github.com/versity/versitygw/cmd/versitygw@v${PINNED}`;
    const building = run('go', ['install', '-trimpath', '-ldflags=-s -w', module], {
      env,
      timeout: BUILD_MS,
    });
    if (building.child.pid !== undefined) setPriority(building.child.pid, constants.priority.PRIORITY_LOW);
    await building;
    await mkdir(join(KEPT, '..'), { recursive: true });
    await rename(join(folder, 'versitygw'), KEPT);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One process at a time; the lock of one that has died is taken over. */
async function withLock(path: string, work: () => Promise<void>): Promise<void> {
  await until(() => take(path), {
    timeoutMs: BUILD_MS * 2,
    what: 'the S3 server that another process builds',
  });
  try {
    await work();
  } finally {
    await rm(path, { force: true });
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
