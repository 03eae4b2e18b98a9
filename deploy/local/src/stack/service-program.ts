import { join, resolve } from 'node:path';
import { spawnAttached } from '../backends/attached-process.ts';
import type { Program } from '../backends/program.ts';
import type { ServiceName } from './service-names.ts';

const SERVICES_DIR = resolve(import.meta.dirname, '../../../../services');

/** Keeps the resident memory of an idle process small; the old generation may still grow as work needs it. */
const NODE_FLAGS = ['--max-semi-space-size=4', '--max-old-space-size=384'];

export interface ServiceToRun {
  name: ServiceName;
  environment: Readonly<Record<string, string | undefined>>;
  healthPort: number;
  logFile: string;
}

/** Describes how to run one service as a process of its own. */
export function serviceProgram({ name, environment, healthPort, logFile }: ServiceToRun): Program {
  const folder = join(SERVICES_DIR, name);
  return {
    name,
    logFile,
    stopSignal: 'SIGTERM',
    launch: () =>
      spawnAttached({
        command: process.execPath,
        args: [...NODE_FLAGS, '--import', '@kr/telemetry/preload', join(folder, 'src', 'main.ts')],
        // NOTE: node looks for the module of --import from here.
        cwd: folder,
        env: environment,
        logFile,
        stopSignal: 'SIGTERM',
      }),
    isReady: () => saysReady(healthPort),
  };
}

function saysReady(healthPort: number): Promise<boolean> {
  const answer = fetch(`http://127.0.0.1:${healthPort}/readyz`, { signal: AbortSignal.timeout(1_000) });
  return answer.then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
}
