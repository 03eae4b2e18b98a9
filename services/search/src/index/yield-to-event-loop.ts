import { setImmediate as pause } from 'node:timers/promises';

/** Milliseconds of work after which other tasks run. */
const SLICE_MS = 10;

/** Runs work step by step and pauses after each slice of `SLICE_MS`. */
export function yieldToEventLoop() {
  let startedAt = performance.now();
  return async <Result>(work: Generator<void, Result>): Promise<Result> => {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (performance.now() - startedAt > SLICE_MS) {
        await pause();
        startedAt = performance.now();
      }
    }
  };
}
