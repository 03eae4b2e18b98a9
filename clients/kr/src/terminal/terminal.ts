/** Where a command writes: results on standard output, everything about the way there on standard error. */
export interface Terminal {
  /** One line of the result. */
  print(line: string): void;
  /** One line about what is going on. */
  note(line: string): void;
  /** Replaces the last status line; only where `isInteractive`. An empty text clears it. */
  status(text: string): void;
  /** Whether standard error is a terminal that shows moving text. */
  isInteractive: boolean;
  /** Columns of that terminal. */
  width: number;
}

interface Stream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export function createTerminal(out: Stream, err: Stream): Terminal {
  const isInteractive = err.isTTY === true;
  const clear = isInteractive ? '\r\u001b[K' : '';
  return {
    print: (line) => out.write(`${line}\n`),
    note: (line) => err.write(`${clear}${line}\n`),
    status: (text) => {
      if (isInteractive) err.write(`${clear}${text}`);
    },
    isInteractive,
    width: err.columns ?? 80,
  };
}
