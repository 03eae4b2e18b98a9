import { readFile } from 'node:fs/promises';

/** The last lines of a log file, indented, for an error message. */
export async function logTail(file: string, lines = 12): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .trimEnd()
    .split('\n')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n');
}
