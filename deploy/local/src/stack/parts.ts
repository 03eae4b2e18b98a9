import type { Program, Variables } from '../backends/program.ts';
import type { ProcessList } from './process-list.ts';
import { type ProgramName, SERVICES, type ServiceName } from './service-names.ts';
import { SupervisedPart } from './supervised-part.ts';

export type PartName = ProgramName | ReplicaName | 'postgres' | 'nats';

/** A second process of a service, on the same database. */
export type ReplicaName = `${ServiceName}-replica`;

/** All the supervised programs of one system. */
export interface Parts {
  /** Resolves when the part is ready; from then on it is restarted when it ends. */
  start(name: PartName, program: Program): Promise<void>;
  /** Undefined while a part is down. */
  pid(name: PartName): number | undefined;
  kill(name: PartName, signal: NodeJS.Signals): void;
  /** Ends a part at once and starts it with further variables, one set a process; resolves when it is ready. */
  relaunch(name: PartName, ...further: Variables[]): Promise<void>;
  /** Ends one part in good order; it stays down. */
  retire(name: PartName): Promise<void>;
  /** Ends every process: within 5 s in good order, at once when `now`. May be called again to hurry. */
  stop(how?: { now?: boolean }): Promise<void>;
}

export interface PartsSurroundings {
  processes: ProcessList;
  onProgress(sentence: string): void;
  /** Called after a part got a new process. */
  onLaunch(): void;
  signal: AbortSignal | undefined;
}

const SERVICE_GRACE_MS = 3_000;
const BACKEND_GRACE_MS = 1_500;

export function openParts({ processes, onProgress, onLaunch, signal }: PartsSurroundings): Parts {
  const parts = new Map<PartName, SupervisedPart>();
  const stopThese = async (names: readonly PartName[], graceMs: number): Promise<void> => {
    await Promise.all(names.map((name) => parts.get(name)?.stop(graceMs)));
  };
  return {
    async start(name, program) {
      signal?.throwIfAborted();
      const part = new SupervisedPart(program, {
        onProgress,
        onLaunch: (_, pid) => {
          processes.add(name, pid);
          onLaunch();
        },
      });
      parts.set(name, part);
      await part.start();
      onProgress(`${program.name} is up`);
    },
    pid: (name) => parts.get(name)?.pid,
    kill: (name, sent) => parts.get(name)?.kill(sent),
    async relaunch(name, ...further) {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`there is no ${name}`);
      await part.relaunch(...further);
    },
    retire: (name) => stopThese([name], SERVICE_GRACE_MS),
    async stop({ now = false } = {}) {
      // Services first, so that they can close their connections to the backends.
      const replicas = SERVICES.map((name): ReplicaName => `${name}-replica`);
      await stopThese(['web', ...SERVICES, ...replicas], now ? 0 : SERVICE_GRACE_MS);
      await stopThese(['nats', 'postgres'], now ? 0 : BACKEND_GRACE_MS);
    },
  };
}
