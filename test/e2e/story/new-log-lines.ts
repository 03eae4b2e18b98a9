import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SharedSystem } from '@kr/testbed/shared-system';

/** Starts to follow the logs of all parts; the result returns the lines since then, with the name of their file. */
export async function newLogLines({
  logDir,
}: Pick<SharedSystem, 'logDir'>): Promise<() => Promise<LogLine[]>> {
  const past = await contents(logDir);
  return async () =>
    [...(await contents(logDir))].flatMap(([file, content]) =>
      content
        .slice(past.get(file)?.length ?? 0)
        .split('\n')
        .map((line) => ({ file, line })),
    );
}

export interface LogLine {
  file: string;
  line: string;
}

async function contents(logDir: string): Promise<Map<string, string>> {
  const names = await readdir(logDir);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(logDir, name), 'utf8')] as const)),
  );
}
