import { get } from 'node:http';
import { join, resolve } from 'node:path';
import { spawnAttached } from '../backends/attached-process.ts';
import type { Program } from '../backends/program.ts';
import type { ProgramName } from './service-names.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const COMPILE_CACHE = join(ROOT, '.toolchain', 'compile-cache');
const RELEASE_MEMORY = resolve(import.meta.dirname, '../child/release-memory-when-idle.ts');

/** Seven processes share a small machine: a small young generation, and memory that only the start needed is released. */
const LASTING = [
  '--max-semi-space-size=8',
  '--max-old-space-size=384',
  '--expose-gc',
  '--import',
  RELEASE_MEMORY,
];
/** Short-lived systems save time, not memory. */
const PASSING = ['--min-semi-space-size=32', '--max-semi-space-size=32', '--max-old-space-size=384'];
const SMALL_MACHINE = {
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
};

/** Each upload occupies a thread while the disk syncs its bytes. With Node's four threads, four uploads stop all file operations. */
const FILE_THREADS = { UV_THREADPOOL_SIZE: '16' };

export interface ServiceToRun {
  name: ProgramName;
  environment: Readonly<Record<string, string | undefined>>;
  healthPort: number;
  logFile: string;
  /** Whether it runs for as long as anybody wants it, rather than for a test. */
  isLasting: boolean;
  /** Root of the checkout with the service; default: this one. */
  checkout?: string | undefined;
}

/** Describes how to run one service as a separate process. */
export function serviceProgram({
  name,
  environment,
  healthPort,
  logFile,
  isLasting,
  checkout = ROOT,
}: ServiceToRun): Program {
  const folder = join(checkout, 'services', name);
  return {
    name,
    logFile,
    stopSignal: 'SIGTERM',
    launch: (further) =>
      spawnAttached({
        command: process.execPath,
        args: [
          ...(isLasting ? LASTING : PASSING),
          '--import',
          '@kr/telemetry/preload',
          join(folder, 'src', 'main.ts'),
        ],
        // NOTE: node looks for the module of --import from here.
        cwd: folder,
        env: { ...SMALL_MACHINE, ...(name === 'files' && FILE_THREADS), ...environment, ...further },
        logFile,
        stopSignal: 'SIGTERM',
      }),
    isReady: () => isReady(healthPort),
  };
}

/** NOTE: not with fetch, which would permanently use 15 MB of the supervisor. */
function isReady(healthPort: number): Promise<boolean> {
  return new Promise((answer) => {
    const asking = get({
      host: '127.0.0.1',
      port: healthPort,
      path: '/readyz',
      agent: false,
      timeout: 1_000,
    });
    asking.once('response', (response) => {
      response.resume();
      answer(response.statusCode === 200);
    });
    asking.once('timeout', () => asking.destroy());
    asking.once('error', () => answer(false));
  });
}
