import { ServiceError } from '@kr/service-error';
import { searchTimeout } from '../engine/search-engine.ts';
import type { SearchSlots } from './search-slots.ts';

export interface EngineTimeDeps {
  slots: SearchSlots;
  /** Milliseconds that all engine calls of one request may take, including the wait for slots. */
  limitMs: number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
}

/** The time that one request spends in the engine. */
export interface EngineTime {
  /**
   * Makes one engine call in a slot of the caller, with the rest of the request's time in whole milliseconds.
   *
   * @throws ServiceError as `SearchSlots.acquire`, and the error of `work`, with the time used so far
   */
  run<Result>(isCostly: boolean, work: (timeoutMs: number) => Promise<Result>): Promise<Result>;
  /** Milliseconds of engine calls so far, without waiting. */
  readonly usedMs: number;
}

export type OpenEngineTime = (caller: string) => EngineTime;

export function engineTime({ slots, limitMs, elapsed }: EngineTimeDeps): OpenEngineTime {
  return (caller) => {
    let spentMs = 0;
    let usedMs = 0;
    return {
      get usedMs() {
        return Math.round(usedMs);
      },
      async run(isCostly, work) {
        const requestedAt = elapsed();
        if (spentMs >= limitMs) throw withUsed(searchTimeout(), usedMs);
        const timeoutMs = limitMs - spentMs;
        const release = await slots.acquire({ caller, isCostly, timeoutMs });
        const started = elapsed();
        try {
          return await work(Math.max(1, Math.floor(timeoutMs - (started - requestedAt))));
        } catch (error) {
          throw withUsed(error, usedMs + elapsed() - started);
        } finally {
          usedMs += elapsed() - started;
          spentMs += elapsed() - requestedAt;
          release();
        }
      },
    };
  };
}

function withUsed(thrown: unknown, usedMs: number): ServiceError {
  const error = ServiceError.from(thrown);
  return new ServiceError(error.kind, error.message, { ...error, usedMs: Math.round(usedMs), cause: thrown });
}
