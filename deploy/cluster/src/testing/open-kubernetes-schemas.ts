import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openPython } from '@kr/testbed';

const run = promisify(execFile);
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');

/** Checks a file of resources against the schemas of Kubernetes 1.37. Throws the problems. */
export type CheckResources = (file: string) => Promise<void>;

/** Or the reason for their absence, which a skipped test reports. */
export async function openKubernetesSchemas(): Promise<{ check: CheckResources } | { missing: string }> {
  const found = await openPython(REQUIREMENTS);
  if ('missing' in found) return found;
  const validate = ['-m', 'kubernetes_validate', '--kubernetes-version', '1.37', '--strict', '--quiet'];
  return {
    check: async (file) => {
      await run(found.python, [...validate, file]);
    },
  };
}
