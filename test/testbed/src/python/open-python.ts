import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TEST_PROGRAMS_DIR } from '../run-folder.ts';

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 240_000;

/**
 * A Python interpreter with the packages of a `requirements.txt`, installed once per content of that file,
 * or the reason why there is none.
 *
 * Run its programs with `python -m`: the scripts in its `bin` folder name the folder in which they were installed.
 */
export async function openPython(requirements: string): Promise<{ python: string } | { missing: string }> {
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const home = join(TEST_PROGRAMS_DIR, `python-${digest}`);
  const python = join(home, 'bin', 'python');
  if (existsSync(python)) return { python };
  const unfinished = `${home}.${process.pid}`;
  try {
    await mkdir(TEST_PROGRAMS_DIR, { recursive: true });
    await run('python3', ['-m', 'venv', unfinished]);
    await run(join(unfinished, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '-r', requirements], {
      timeout: INSTALL_TIMEOUT_MS,
    });
    await rename(unfinished, home);
    return { python };
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another test process may have installed the same packages first.
    if (existsSync(python)) return { python };
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200);
    return { missing: `needs Python 3.10 or later with venv and pip, and PyPI: ${reason}` };
  }
}
