import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface ForeignUser {
  uid: number;
  gid: number;
  /** The user needs access to folders that are closed to others. */
  reach: boolean;
}

/**
 * Postgres refuses to run as root. For root this finds the user it runs as instead: `postgres`, made if it can be,
 * else `nobody`. Undefined for other users.
 */
export function findForeignUser(paths: readonly string[]): ForeignUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const identity = identityOf('postgres') ?? makeUser('postgres') ?? identityOf('nobody');
  if (identity === undefined) {
    throw new Error('Postgres cannot run as root, and there is no user "postgres" or "nobody" to run it as.');
  }
  return { ...identity, reach: paths.some((path) => isClosed(resolve(path))) };
}

function makeUser(name: string): { uid: number; gid: number } | undefined {
  spawnSync('useradd', ['--system', '--no-create-home', '--user-group', name], { stdio: 'ignore' });
  return identityOf(name);
}

function identityOf(name: string): { uid: number; gid: number } | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout?.trim(),
  );
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** True if some folder above the path lets only its owner through. */
function isClosed(path: string): boolean {
  const folder = dirname(path);
  if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) return true;
  return folder !== dirname(folder) && isClosed(folder);
}
