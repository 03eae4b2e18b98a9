import { Failure } from '../failure.ts';
import { findOperatorDoor, reasonOf } from '../settings/operator-door.ts';
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
  const { folder, ...identity } = await findOperatorDoor(options.dataDirs, 'identity');
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
    caller: 'operator',
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

/** Why there is no such user now, for the operator. */
export function explain(error: unknown, name: string): string {
  const reason = reasonOf(error);
  const isAway = error instanceof Error && 'kind' in error && error.kind === 'unavailable';
  return isAway ? reason : `user ${name} was not made: ${reason}`;
}
