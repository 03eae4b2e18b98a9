import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findGoProgram } from '@kr/testbed';

const run = promisify(execFile);
/** Templates are for this version of Kubernetes. */
const KUBERNETES = ['--kube-version', '1.37'];

export interface Helm {
  /** @throws Error with the problems */
  lint(chart: string, values: readonly string[]): Promise<void>;
  /** The resources of a release called `repository`. @throws Error with the rejected values */
  template(chart: string, values: readonly string[]): Promise<string>;
}

/** Helm, from the PATH or built by Go, once; or the reason for its absence, which a skipped test reports. */
export async function openHelm(): Promise<Helm | { missing: string }> {
  const program = {
    name: 'helm',
    source: 'helm.sh/helm/v3/cmd/helm',
    version: '3.22.0',
    // Any version that supports the commands below.
    probe: ['lint', ...KUBERNETES, '--help'],
    // It runs for a second; built without optimisation it is there in half the time.
    flags: ['-gcflags=all=-N -l'],
    // Some minutes of processor time, which other tests share.
    buildMs: 1_800_000,
  };
  try {
    const path = await findGoProgram(program);
    const ask = async (args: readonly string[]) =>
      (await run(path, [...args], { maxBuffer: 2 ** 26 })).stdout;
    return {
      lint: async (chart, values) => {
        await ask(['lint', '--strict', ...KUBERNETES, chart, ...values]);
      },
      template: (chart, values) => ask(['template', 'repository', chart, ...KUBERNETES, ...values]),
    };
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error))
      .replaceAll(/\s+/g, ' ')
      .slice(0, 200);
    return { missing: `needs Helm 3.18 or later, or Go: ${reason}` };
  }
}
