import { quantile } from '../bench/load.ts';
import type { Answered } from './timed-client.ts';

/** Outcomes of the requests of one kind. Times in milliseconds. */
export interface KindFigures {
  kind: string;
  asked: number;
  answered: number;
  /** 429 or 503: retry later. */
  refused: number;
  /** By any other 5xx, or not at all. */
  failed: number;
  p50: number;
  p99: number;
}

export interface Tally {
  note(kind: string, answered: Answered): void;
  figures(): KindFigures[];
  /** Successes in all. */
  readonly good: number;
  readonly refusals: readonly Answered[];
  /** Wrong answers. */
  readonly unforeseen: readonly string[];
}

const MOST_TOLD = 20;

/** Counts what is answered; a 4xx but 429 is as unforeseen as a 5xx. */
export function openTally(): Tally {
  const kinds = new Map<string, { times: number[]; refused: number; failed: number }>();
  const refusals: Answered[] = [];
  const unforeseen: string[] = [];
  return {
    note(kind, answered) {
      const { status, took, text } = answered;
      const counted = kinds.get(kind) ?? { times: [], refused: 0, failed: 0 };
      kinds.set(kind, counted);
      if (status >= 200 && status < 300) counted.times.push(took);
      else if (status === 429 || status === 503) {
        counted.refused += 1;
        refusals.push(answered);
      } else {
        counted.failed += 1;
        if (unforeseen.length < MOST_TOLD) unforeseen.push(`${kind}: ${status} ${text.slice(0, 300)}`);
      }
    },
    figures: () =>
      [...kinds].map(([kind, { times, refused, failed }]) => {
        const sorted = times.toSorted((a, b) => a - b);
        return {
          kind,
          asked: times.length + refused + failed,
          answered: times.length,
          refused,
          failed,
          p50: quantile(sorted, 0.5),
          p99: quantile(sorted, 0.99),
        };
      }),
    get good() {
      return [...kinds.values()].reduce((sum, { times }) => sum + times.length, 0);
    },
    refusals,
    unforeseen,
  };
}
