import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openPython } from '@kr/testbed';
import type { Resource } from './resource.ts';

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const PROGRAM = join(import.meta.dirname, 'validate_resources.py');

/** The problems that the schemas of these versions of Kubernetes, such as `1.34`, find in resources; empty: none. */
export type FindProblems = (
  resources: readonly { file: string; resource: Resource }[],
  versions: readonly string[],
) => Promise<string>;

/** Or the reason for their absence, which a skipped test reports. */
export async function openKubernetesSchemas(): Promise<{ findProblems: FindProblems } | { missing: string }> {
  const found = await openPython(REQUIREMENTS);
  if ('missing' in found) return found;
  return {
    findProblems: async (resources, versions) => {
      const child = spawn(found.python, [PROGRAM, ...versions], { stdio: ['pipe', 'pipe', 'pipe'] });
      child.stdin.end(JSON.stringify(resources));
      const output = Promise.all([text(child.stdout), text(child.stderr)]);
      const [code] = await once(child, 'close');
      const [problems, errors] = await output;
      return code === 0 ? '' : `${problems}${errors}`;
    },
  };
}
