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

/**
 * Text of others may hold what a terminal obeys or shows as another text: control characters except tab and line breaks, and
 * characters that change the direction of text. They are shown as escape sequences, which JSON means the same by.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Bidi_Control}/gu;

function printable(text: string): string {
  return text.replace(UNSAFE, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function createTerminal(out: Stream, err: Stream): Terminal {
  const isInteractive = err.isTTY === true;
  const clear = isInteractive ? '\r\u001b[K' : '';
  return {
    print: (line) => out.write(`${printable(line)}\n`),
    note: (line) => err.write(`${clear}${printable(line)}\n`),
    status: (text) => {
      if (isInteractive) err.write(`${clear}${printable(text)}`);
    },
    isInteractive,
    width: err.columns ?? 80,
  };
}
