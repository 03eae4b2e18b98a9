import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CliError } from '../cli-error.ts';
import type { Login } from './settings.ts';

/** The file of the stored login, by the conventions of the platform. */
export function loginFile(
  env: Readonly<Record<string, string | undefined>>,
  platform = process.platform,
): string {
  const fallback = platform === 'win32' ? join(homedir(), 'AppData', 'Roaming') : join(homedir(), '.config');
  const folder = (platform === 'win32' ? env['APPDATA'] : env['XDG_CONFIG_HOME']) || fallback;
  return join(folder, 'kr', 'credentials.json');
}

/**
 * A login in a file (`{"base_url", "token"}`) of `kr login` or of a local system; empty when
 * there is no file.
 *
 * @throws CliError when the file is not of that form
 */
export async function readLogin(file: string): Promise<Login> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw new CliError(`cannot read ${file}: ${error.code}`);
  });
  if (text === undefined) return { from: file };
  const { base_url: baseUrl, token } = parse(text, file);
  return {
    baseUrl: typeof baseUrl === 'string' ? baseUrl : undefined,
    token: typeof token === 'string' ? token : undefined,
    from: file,
  };
}

/**
 * The login in the data folder of a local system; without a first user only the address, while it runs.
 *
 * @throws CliError when a file there is not of that form
 */
export async function readLocalLogin(folder: string): Promise<Login> {
  const login = await readLogin(join(folder, 'credentials.json'));
  if (login.baseUrl !== undefined) return login;
  const { baseUrl, from } = await readLogin(join(folder, 'runtime.json'));
  return { baseUrl, from };
}

/** Keeps a login where only this user can read it, replacing the one before. */
export async function writeLogin(
  file: string,
  { baseUrl, token }: { baseUrl: URL; token: string },
): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  await writeFile(next, `${JSON.stringify({ base_url: baseUrl.href, token }, null, 2)}\n`, { mode: 0o600 });
  await rename(next, file);
}

function parse(text: string, file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Answered below, as any other content that is no login.
  }
  throw new CliError(`${file} is not a JSON object; remove it and run \`kr login\` again`);
}
