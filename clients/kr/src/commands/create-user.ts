import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { readLocalLogin } from '../settings/stored-login.ts';
import type { Terminal } from '../terminal/terminal.ts';

export interface CreateUserOptions {
  admin: boolean;
  json: boolean;
  /** Folders of a local system; the first that holds a running one counts. */
  dataDirs: readonly string[];
}

/** `kr admin user create NAME`: a user with a token, made by the operator of a local system. */
export async function createUser(
  terminal: Terminal,
  name: string,
  options: CreateUserOptions,
): Promise<void> {
  const { folder, ...identity } = await findIdentity(options.dataDirs);
  const { baseUrl } = await readLocalLogin(folder);
  // Only this command speaks to the inside; the others start without what it needs.
  const [{ createClient }, { definitions }, { servicePrincipal }] = await Promise.all([
    import('@kr/rpc'),
    import('@kr/contracts'),
    import('@kr/caller'),
  ]);
  const client = createClient(definitions.identity, {
    ...identity,
    audience: 'gateway',
    defaultTimeoutMs: 15_000,
  });
  try {
    const created = await client.createUser({ name, isAdmin: options.admin }, servicePrincipal('kr-client'));
    // The fields that a local system's credentials.json has too are named as there.
    const user = {
      ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      user: created.name,
      user_id: created.userId,
      is_admin: created.isAdmin,
      token: created.token,
    };
    if (options.json) terminal.print(JSON.stringify(user, null, 2));
    else for (const [field, value] of Object.entries(user)) terminal.print(`${field.padEnd(10)}${value}`);
  } catch (error) {
    throw new Failure(explain(error, name));
  } finally {
    client.close();
  }
}

interface IdentityAccess {
  address: string;
  key: string;
}

async function findIdentity(dataDirs: readonly string[]): Promise<IdentityAccess & { folder: string }> {
  for (const folder of dataDirs) {
    const file = join(folder, 'runtime.json');
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw new Failure(`cannot read ${file}: ${error.code}`);
    });
    if (text !== undefined) return { ...parse(text, file), folder };
  }
  throw new Failure(
    `No running system in ${dataDirs.join(' or ')}. \`npm start\` starts one; --data-dir names another folder.`,
  );
}

function parse(text: string, file: string): IdentityAccess {
  try {
    const { identity } = JSON.parse(text) as { identity?: Partial<IdentityAccess> };
    if (typeof identity?.address === 'string' && typeof identity.key === 'string') {
      return { address: identity.address, key: identity.key };
    }
  } catch {
    // Answered below, as any other content without an address.
  }
  throw new Failure(`${file} does not say where the system is; start it again`);
}

/** Why there is no such user now, for the operator. */
export function explain(error: unknown, name: string): string {
  if (!(error instanceof Error)) return String(error);
  const kind = 'kind' in error ? error.kind : undefined;
  if (kind === 'unavailable') return 'The system does not answer: is it running? `npm start` starts it.';
  const issues = 'issues' in error ? (error.issues as readonly { messages: readonly string[] }[]) : [];
  const reasons = issues.flatMap(({ messages }) => messages);
  return `user ${name} was not made: ${reasons.length === 0 ? error.message : reasons.join(' ')}`;
}
