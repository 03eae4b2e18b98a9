import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { readJson, writePrivateJson } from '../private-file.ts';
import type { AdminEndpoint } from '../stack/admin-endpoint.ts';
import type { CreatedUser } from '../stack/create-user.ts';
import type { RunningStack } from '../stack/start-stack.ts';

/** Content of `credentials.json`: how a client on this machine reaches the system. */
export interface Credentials {
  base_url: string;
  user: string;
  token: string;
}

const NAME = 'demo';
const CREATE_USER = resolve(import.meta.dirname, '../child/create-user.ts');

/** Makes the first user once for each data folder; later starts only bring the base URL up to date. */
export async function ensureFirstUser(
  file: string,
  stack: RunningStack,
): Promise<{ credentials: Credentials; isNew: boolean }> {
  const stored = await readJson<Credentials>(file);
  const { name, token } =
    stored === undefined
      ? await createInOwnProcess(stack.admin.gateway)
      : { name: stored.user, token: stored.token };
  const credentials = { base_url: stack.baseUrl, user: name, token };
  await writePrivateJson(file, credentials);
  return { credentials, isNew: stored === undefined };
}

async function createInOwnProcess({ address, key }: AdminEndpoint): Promise<CreatedUser> {
  const args = [CREATE_USER, '--address', address, '--name', NAME];
  const env = { ...process.env, IDENTITY_KEY: key };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout);
}
