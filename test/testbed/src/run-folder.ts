import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A new folder outside the checkout for the files of one backend or system of a test. */
export function newRunFolder(what: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `kr-${what}-`));
}

/** Downloaded programs stay in the checkout, so that one download serves every run. */
export const TOOLCHAIN_DIR: string = resolve(import.meta.dirname, '../../../.toolchain');

/** Programs that only tests use, whose build or installation takes minutes: one for all checkouts of this user. */
export const TEST_PROGRAMS_DIR: string = join(
  process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
  'knowledge-repository',
);
