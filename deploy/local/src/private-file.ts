import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';

/**
 * Writes a file that only this user can read, at no moment anybody else, also where one lay that others could; a reader
 * sees the old content or the new, never half of it.
 */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  const aside = `${file}.${randomBytes(4).toString('hex')}.new`;
  await writeFile(aside, content, { mode: 0o600 });
  await rename(aside, file);
}

/** The same, of JSON. */
export async function writePrivateJson(file: string, content: unknown): Promise<void> {
  await writePrivateFile(file, `${JSON.stringify(content, undefined, 2)}\n`);
}

/** The parsed content; undefined when there is no such file. @throws SyntaxError when it is not JSON. */
export async function readJson<T>(file: string): Promise<T | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : JSON.parse(text);
}
