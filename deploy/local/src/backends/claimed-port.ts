import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

const CLAIMS = join(tmpdir(), `knowledge-repository-ports-${userInfo().uid}`);

/**
 * Claims a port among all systems of this user on this machine, for as long as this process lives: a port that is only
 * probed can be chosen twice before anybody listens on it. False when another living process has it.
 */
export function claimPort(port: number, folder = CLAIMS): boolean {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, String(port));
  if (writeClaim(file)) return true;
  if (isAlive(holderOf(file))) return false;
  // Only one of several who find a dead claim can move it away.
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  rmSync(aside);
  return writeClaim(file);
}

function writeClaim(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** 0 while the claim is being written or was just moved away. */
function holderOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  if (pid === 0) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
