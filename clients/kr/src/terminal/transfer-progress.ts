import { formatBytes } from './format-bytes.ts';
import type { Terminal } from './terminal.ts';

const MIN_REDRAW_MS = 80;

/** How far a number of transfers is: one bar for all on a terminal, one line for each finished file elsewhere. */
export interface TransferProgress {
  /** Bytes moved; negative when a transfer starts over. */
  advance(bytes: number): void;
  finished(file: string, bytes: number): void;
  /** Takes the bar away. */
  end(): void;
}

export function transferProgress(
  terminal: Terminal,
  verb: string,
  total: { files: number; bytes: number },
  now: () => number = performance.now.bind(performance),
): TransferProgress {
  let bytes = 0;
  let files = 0;
  let drawnAt = Number.NEGATIVE_INFINITY;
  const draw = (): void => {
    if (!terminal.isInteractive || now() - drawnAt < MIN_REDRAW_MS) return;
    drawnAt = now();
    terminal.status(bar(verb, { files, bytes }, total, terminal.width));
  };
  return {
    advance(moved) {
      bytes += moved;
      draw();
    },
    finished(file, size) {
      files += 1;
      if (terminal.isInteractive) draw();
      else terminal.note(`${verb} ${file} (${formatBytes(size)}), ${files} of ${total.files}`);
    },
    end: () => terminal.status(''),
  };
}

/** One line that fits the width: the bar gets what the figures leave. */
export function bar(
  verb: string,
  done: { files: number; bytes: number },
  total: { files: number; bytes: number },
  width: number,
): string {
  const share = total.bytes === 0 ? 1 : Math.min(1, done.bytes / total.bytes);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  const figures = `${percent} %  ${done.files}/${total.files} files  ${formatBytes(done.bytes)} of ${formatBytes(total.bytes)}`;
  const room = Math.min(40, width - verb.length - figures.length - 6);
  if (room < 5) return `${verb} ${figures}`.slice(0, width - 1);
  const filled = Math.round(share * room);
  return `${verb} [${'#'.repeat(filled)}${'.'.repeat(room - filled)}] ${figures}`;
}
