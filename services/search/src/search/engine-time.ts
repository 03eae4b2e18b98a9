import { ServiceError } from '@kr/service-error';
import { searchTimeout } from '../engine/search-timeout.ts';
import type { FairTurns } from './fair-turns.ts';

export interface EngineTimeDeps {
  turns: FairTurns;
  /** Milliseconds that all engine calls of one request may take, with the wait for their turns. */
  limitMs: number;
  /** Milliseconds on a clock that never goes back. */
  elapsed: () => number;
}

/** The time that one request spends in the engine. */
export interface EngineTime {
  /**
   * Does one engine call in a turn of the caller, within what is left of the time of the request, in whole milliseconds.
   *
   * @throws ServiceError as `FairTurns.take`, and what `work` throws, with the time used so far
   */
  run<Result>(isCostly: boolean, work: (timeoutMs: number) => Promise<Result>): Promise<Result>;
  /** Milliseconds of engine calls so far, without waiting. */
  readonly usedMs: number;
}

export type OpenEngineTime = (caller: string) => EngineTime;

export function engineTime({ turns, limitMs, elapsed }: EngineTimeDeps): OpenEngineTime {
  return (caller) => {
    let spentMs = 0;
    let usedMs = 0;
    return {
      get usedMs() {
        return Math.round(usedMs);
      },
      async run(isCostly, work) {
        const begun = elapsed();
        if (spentMs >= limitMs) throw withUsed(searchTimeout(), usedMs);
        const timeoutMs = limitMs - spentMs;
        const end = await turns.take({ caller, isCostly, timeoutMs });
        const started = elapsed();
        try {
          return await work(Math.max(1, Math.floor(timeoutMs - (started - begun))));
        } catch (error) {
          throw withUsed(error, usedMs + elapsed() - started);
        } finally {
          usedMs += elapsed() - started;
          spentMs += elapsed() - begun;
          end();
        }
      },
    };
  };
}

function withUsed(thrown: unknown, usedMs: number): ServiceError {
  const error = ServiceError.from(thrown);
  return new ServiceError(error.kind, error.message, { ...error, usedMs: Math.round(usedMs), cause: thrown });
}
