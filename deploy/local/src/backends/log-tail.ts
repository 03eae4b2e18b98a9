import { readFile } from 'node:fs/promises';

/** The last lines that were written to a log file after the byte `from`, indented, for an error message. */
export async function logTail(file: string, from = 0, lines = 12): Promise<string> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  const text = bytes.subarray(from).toString().trimEnd();
  return text
    .split('\n')
    .filter((line) => !/^\s+at .*\(?node:internal/.test(line))
    .slice(-lines)
    .map((line) => `  ${readable(line)}`)
    .join('\n');
}

/** Shortens a structured line for a person. */
function readable(line: string): string {
  if (!line.startsWith('{')) return line.slice(0, 400);
  try {
    const { msg, err } = JSON.parse(line);
    return [msg, err?.stack ?? err?.message].filter((part) => typeof part === 'string').join(': ');
  } catch {
    return line.slice(0, 400);
  }
}
