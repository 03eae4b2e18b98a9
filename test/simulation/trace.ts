import type { VirtualTime } from './virtual-time.ts';

/** The events of one history. They are always counted, and written only on request. */
export interface Trace {
  count(what: string): void;
  note(line: () => string): void;
  /** A broken promise. */
  violation(what: string): void;
  readonly counts: Readonly<Record<string, number>>;
  readonly lines: readonly string[];
  readonly violations: readonly string[];
}

export function openTrace(time: VirtualTime, isTold: boolean): Trace {
  const counts: Record<string, number> = {};
  const lines: string[] = [];
  const violations: string[] = [];
  const tell = (line: string): void => {
    lines.push(`${String(time.now()).padStart(6)} ms  ${line}`);
  };
  return {
    count(what) {
      counts[what] = (counts[what] ?? 0) + 1;
    },
    note(line) {
      if (isTold) tell(line());
    },
    violation(what) {
      violations.push(what);
      tell(`VIOLATION ${what}`);
    },
    counts,
    lines,
    violations,
  };
}
