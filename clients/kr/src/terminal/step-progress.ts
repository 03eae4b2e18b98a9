import type { Terminal } from './terminal.ts';

const MIN_REDRAW_MS = 80;

/** How far something of several steps is: a line for each step, and on a terminal how much of it is done. */
export function stepProgress(
  terminal: Terminal,
  now: () => number = performance.now.bind(performance),
): { step(sentence: string): void; amount(sentence: string): void } {
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    step: (sentence) => terminal.note(`· ${sentence}`),
    amount: (sentence) => {
      if (now() - drawnAt < MIN_REDRAW_MS) return;
      drawnAt = now();
      terminal.status(sentence);
    },
  };
}
