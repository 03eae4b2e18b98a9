import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A new folder outside the checkout for what one backend or system of a test writes. */
export function newRunFolder(what: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `kr-${what}-`));
}

/** Fetched programs are kept in the checkout, so that one download serves every run. */
export const TOOLCHAIN_DIR: string = resolve(import.meta.dirname, '../../../.toolchain');
