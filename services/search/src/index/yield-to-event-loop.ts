import { setImmediate as pause } from 'node:timers/promises';

/** After this many milliseconds of work other tasks run. */
const AT_ONCE_MS = 10;

/** Does work step by step, one piece after the other, with a pause wherever it has lasted long enough for one. */
export function yieldToEventLoop() {
  let begun = performance.now();
  return async <Result>(work: Generator<void, Result>): Promise<Result> => {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (performance.now() - begun > AT_ONCE_MS) {
        await pause();
        begun = performance.now();
      }
    }
  };
}
