import { execFile } from 'node:child_process';
import { mkdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/**
 * Replaces the last release while there is no tag: the last commit that changed an initial migration or a protocol
 * incompatibly, or a later one.
 */
const COMMIT = '17d07d1d8f7b39019ec075ee4d172f33c1bbdca7';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/**
 * A checkout of the last release, ready to be started: taken from the history of this repository, its packages installed and its
 * code generated. Kept in `.toolchain`, so that the next run has it at once.
 *
 * @returns what is missing, where it cannot be made
 */
export async function openFormerRelease(): Promise<{ checkout: string } | { missing: string }> {
  const checkout = join(ROOT, '.toolchain', 'releases', COMMIT);
  const hasIt = await run('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT }).then(
    () => true,
    () => false,
  );
  if (!hasIt) return { missing: `needs the whole history of the repository, with ${COMMIT}` };
  await take(checkout);
  // Its stamps record completed steps.
  await run(process.execPath, ['deploy/local/bootstrap.mjs', 'prepare'], {
    cwd: checkout,
    maxBuffer: 64 * 1024 * 1024,
  });
  return { checkout };
}

async function take(checkout: string): Promise<void> {
  const isThere = await stat(checkout).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  const aside = `${checkout}.${process.pid}`;
  await mkdir(aside, { recursive: true });
  await run('git', ['archive', '--format=tar', `--output=${aside}.tar`, COMMIT], { cwd: ROOT });
  await run('tar', ['-xf', `${aside}.tar`, '-C', aside]);
  await rm(`${aside}.tar`);
  // Node and pnpm are those of this checkout.
  await symlink('../..', join(aside, '.toolchain'));
  await rename(aside, checkout);
}
