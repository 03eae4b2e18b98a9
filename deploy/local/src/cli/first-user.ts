import { readJson, writePrivateJson } from '../stack/private-file.ts';
import type { RunningStack } from '../stack/start-stack.ts';

/** Content of `credentials.json`: how a client on this machine reaches the system. */
export interface Credentials {
  base_url: string;
  user: string;
  token: string;
}

const NAME = 'demo';

/** Makes the first user once for each data folder; later starts only bring the base URL up to date. */
export async function ensureFirstUser(
  file: string,
  stack: RunningStack,
): Promise<{ credentials: Credentials; isNew: boolean }> {
  const kept = await readJson<Credentials>(file);
  const { name, token } =
    kept === undefined ? await stack.createUser(NAME) : { name: kept.user, token: kept.token };
  const credentials = { base_url: stack.baseUrl, user: name, token };
  await writePrivateJson(file, credentials);
  return { credentials, isNew: kept === undefined };
}
