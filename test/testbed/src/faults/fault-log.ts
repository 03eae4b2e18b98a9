/** Every fault of a run with its instant, for the report of a failing test. */
export interface FaultLog {
  add(what: string): void;
  /** One line for each, with milliseconds since the log began. */
  lines(): string[];
}

export function openFaultLog(now: () => number = () => performance.now()): FaultLog {
  const began = now();
  const lines: string[] = [];
  return {
    add: (what) => {
      lines.push(`+${Math.round(now() - began)} ms ${what}`);
    },
    lines: () => [...lines],
  };
}
