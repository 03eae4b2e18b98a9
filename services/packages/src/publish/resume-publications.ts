import type { Decisions } from '../store/publication-store.ts';
import type { Coordinator } from './coordinator.ts';
import type { Publication } from './publication.ts';

export interface ResumeDeps {
  readonly decisions: Pick<Decisions, 'claim'>;
  readonly coordinator: Coordinator;
  now(): Date;
  resumed(publication: Publication): void;
  failed(cause: unknown): void;
}

export interface Resumption {
  /** May be called twice; a look that is under way is finished first. */
  stop(): Promise<void>;
}

const MOST_AT_ONCE = 20;

/** Scans at once and then on a timer for publications without an owner, and drives them. */
export function resumePublications(deps: ResumeDeps, everyMs: number): Resumption {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let look = Promise.resolve();

  const resumed = new Set<Promise<unknown>>();
  const again = (): void => {
    look = resumeOnce(deps, resumed).finally(() => {
      if (!isStopped) timer = setTimeout(again, everyMs);
    });
  };
  again();
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await look;
    },
  };
}

/**
 * One scan. If the database cannot be reached, the next scan retries. `running` contains the publications resumed by earlier
 * scans, so that publications of this process's callers, however many, do not delay abandoned ones.
 */
export async function resumeOnce(
  { decisions, coordinator, now, resumed, failed }: ResumeDeps,
  running: Set<Promise<unknown>> = new Set(),
): Promise<void> {
  const room = MOST_AT_ONCE - running.size;
  if (room <= 0) return;
  try {
    for (const publication of await decisions.claim(room, now())) {
      resumed(publication);
      const { settled } = coordinator.drive(publication);
      running.add(settled);
      void settled.finally(() => running.delete(settled));
    }
  } catch (cause) {
    failed(cause);
  }
}
