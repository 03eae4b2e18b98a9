import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A new folder outside the checkout for the files of one backend or system of a test. */
export function newRunFolder(what: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `kr-${what}-`));
}

/** Downloaded programs stay in the checkout, so that one download serves every run. */
export const TOOLCHAIN_DIR: string = resolve(import.meta.dirname, '../../../.toolchain');
