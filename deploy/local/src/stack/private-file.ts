import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';

/** Writes JSON that only this user can read; a reader sees the old content or the new, never half of it. */
export async function writePrivateJson(file: string, content: unknown): Promise<void> {
  const aside = `${file}.${randomBytes(4).toString('hex')}.new`;
  await writeFile(aside, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  await rename(aside, file);
}

/** The parsed content; undefined when there is no such file. @throws SyntaxError when it is not JSON. */
export async function readJson<T>(file: string): Promise<T | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}
