import { ServiceError } from '@kr/service-error';
import { type Deadline, deadlineIn } from '../engine/deadline.ts';
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
   * Makes one engine call in a slot of the caller, with the rest of the request's time.
   *
   * @throws ServiceError as `SearchSlots.acquire`, and the error of `work`, with the time used so far
   */
  run<Result>(isCostly: boolean, work: (deadline: Deadline) => Promise<Result>): Promise<Result>;
  /** Milliseconds of engine calls so far, without waiting. */
  readonly engineMs: number;
}

export type OpenEngineTime = (caller: string) => EngineTime;

export function engineTime({ slots, limitMs, elapsed }: EngineTimeDeps): OpenEngineTime {
  return (caller) => {
    let elapsedMs = 0;
    let engineMs = 0;
    return {
      get engineMs() {
        return Math.round(engineMs);
      },
      async run(isCostly, work) {
        const requestedAt = elapsed();
        if (elapsedMs >= limitMs) throw withUsed(searchTimeout(), engineMs);
        const deadline = deadlineIn(limitMs - elapsedMs, elapsed);
        const release = await slots.acquire({ caller, isCostly, timeoutMs: deadline.leftMs() });
        const startedAt = elapsed();
        try {
          return await work(deadline);
        } catch (error) {
          throw withUsed(error, engineMs + elapsed() - startedAt);
        } finally {
          engineMs += elapsed() - startedAt;
          elapsedMs += elapsed() - requestedAt;
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
