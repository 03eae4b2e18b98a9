import { ApiError } from '../api/api-error.ts';
import { CliError } from '../cli-error.ts';
import type { Settings } from '../settings/settings.ts';
import { writeLogin } from '../settings/stored-login.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ConnectTo } from './context.ts';

/** `kr login`: saves a token that the service accepts. */
export async function login(
  { terminal, connectTo, file }: { terminal: Terminal; connectTo: ConnectTo; file: string },
  { baseUrl, token, tokenFrom }: Settings,
): Promise<void> {
  if (token === undefined) throw new CliError('A token is needed: pass --token TOKEN or set KR_TOKEN.');
  try {
    // The user's listing requires valid credentials.
    await connectTo({ baseUrl, token }).call({
      method: 'GET',
      target: '/api/user/records',
      query: { size: '1' },
    });
  } catch (error) {
    if (error instanceof ApiError && [401, 403].includes(error.status)) {
      throw new CliError(`${baseUrl.origin} rejected the token from ${tokenFrom}.`);
    }
    throw error;
  }
  await writeLogin(file, { baseUrl, token });
  terminal.note(`Logged in at ${baseUrl.origin}; saved in ${file}`);
}
