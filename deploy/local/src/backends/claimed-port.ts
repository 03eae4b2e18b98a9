import { mkdirSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { tryLock } from '../../file-lock.mjs';

const CLAIMS = join(tmpdir(), `knowledge-repository-ports-${userInfo().uid}`);

/**
 * Claims a port among all systems of this user on this machine until this process ends: a port that is only probed can be
 * chosen twice before anybody listens on it. False when another living process has it.
 */
export function claimPort(port: number, folder = CLAIMS): boolean {
  mkdirSync(folder, { recursive: true });
  return tryLock(join(folder, String(port)));
}
