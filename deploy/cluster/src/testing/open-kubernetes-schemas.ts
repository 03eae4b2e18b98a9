import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const VERSION = '1.37.0';
const HOME = resolve(import.meta.dirname, '../../../../.toolchain', `kubernetes-validate-${VERSION}`);
const PYTHON = join(HOME, 'bin', 'python');
/** Of a slow line; then there is none. */
const MOST_MS = 240_000;

/** Checks a file of resources against the schemas of Kubernetes 1.37. Throws the problems. */
export type CheckResources = (file: string) => Promise<void>;

/** Fetched once; or the reason for their absence, which a skipped test reports. */
export async function openKubernetesSchemas(): Promise<{ check: CheckResources } | { missing: string }> {
  if (!existsSync(PYTHON)) {
    const missing = await fetchSchemas();
    if (missing !== undefined) return { missing };
  }
  const validate = ['-m', 'kubernetes_validate', '--kubernetes-version', '1.37', '--strict', '--quiet'];
  return {
    check: async (file) => {
      await run(PYTHON, [...validate, file]);
    },
  };
}

async function fetchSchemas(): Promise<string | undefined> {
  try {
    await mkdir(resolve(HOME, '..'), { recursive: true });
    await run('python3', ['-m', 'venv', `${HOME}.new`]);
    const pip = ['-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS];
    await run(join(`${HOME}.new`, 'bin', 'python'), pip, { timeout: MOST_MS });
    // So that half an installation is never found. The scripts in it name the folder it was made in, so none is used.
    await rename(`${HOME}.new`, HOME);
    return undefined;
  } catch (error) {
    await rm(`${HOME}.new`, { recursive: true, force: true });
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200);
    return `needs Python 3.10 or later with venv and pip, and kubernetes-validate ${VERSION} from PyPI: ${reason}`;
  }
}
