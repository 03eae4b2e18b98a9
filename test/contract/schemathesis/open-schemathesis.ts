import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** Of a slow line; then there is none. */
const MOST_MS = 240_000;
const VERSION = '4.32.5';
const HOME = resolve(import.meta.dirname, '../../../.toolchain', `schemathesis-${VERSION}`);
const PYTHON = join(HOME, 'bin', 'python');

/** The Python that has Schemathesis (`-m schemathesis.cli`), fetched once; or why there is none, which is what a test that is skipped says. */
export async function openSchemathesis(): Promise<{ python: string } | { missing: string }> {
  if (existsSync(PYTHON)) return { python: PYTHON };
  try {
    await mkdir(resolve(HOME, '..'), { recursive: true });
    await run('python3', ['-m', 'venv', `${HOME}.new`]);
    await run(join(`${HOME}.new`, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS], {
      timeout: MOST_MS,
    });
    // So that half an installation is never found. The scripts in it name the folder it was made in, so none is used.
    await rename(`${HOME}.new`, HOME);
    return { python: PYTHON };
  } catch (error) {
    await rm(`${HOME}.new`, { recursive: true, force: true });
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200);
    return {
      missing: `needs Python 3.10 or later with venv and pip, and Schemathesis ${VERSION} from PyPI: ${reason}`,
    };
  }
}
