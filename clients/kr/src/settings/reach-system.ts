import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupSystem } from '@kr/backup';
import { CliError } from '../cli-error.ts';
import { type Runtime, readRuntime } from './runtime.ts';

/** The data of a system, where operators reach it; disposing of it ends what was started for that. */
export interface ReachedSystem extends AsyncDisposable {
  system: BackupSystem;
  /** With the rights of the operator; undefined while a local system is stopped, or if it is not given. */
  natsUrl: string | undefined;
  /** Whether it is a local system that runs. */
  isRunning: boolean;
}

/**
 * The data of the system in the first of these folders that has one: of a running local system, of a stopped one, whose
 * Postgres is started for it, or of a deployed one. If there is none, one is created if `isMade`.
 * @throws CliError if no folder has a system, or its folder does not have the location of the data
 */
export async function reachSystem(
  dataDirs: readonly string[],
  { isMade }: { isMade: boolean },
): Promise<ReachedSystem> {
  for (const folder of dataDirs) {
    const runtime = await readRuntime(folder);
    if (runtime !== undefined && !hasEnded(runtime)) return reached(runtime, folder);
    if ((await isThere(join(folder, 'secrets.json'))) || isMade) return openStopped(folder);
  }
  throw new CliError(
    `No system in ${dataDirs.join(' or ')}. \`npm start\` makes one; --data-dir names another folder.`,
  );
}

function reached(
  { pid, databases, files_folder: filesFolder, nats }: Runtime,
  folder: string,
): ReachedSystem {
  if (databases === undefined)
    throw new CliError(
      `${join(folder, 'runtime.json')} has no addresses of the databases. npm run deploy -- operator FILE ${folder} --postgres URL writes it; a local system has to be started again.`,
    );
  const dataDir = pid === undefined ? undefined : folder;
  return {
    system: { databaseUrls: databases, filesFolder, dataDir },
    natsUrl: nats,
    isRunning: pid !== undefined,
    [Symbol.asyncDispose]: async () => {},
  };
}

async function openStopped(folder: string): Promise<ReachedSystem> {
  // Only what works on the data of a system needs its parts.
  const { openStoppedStack } = await import('@kr/local-stack');
  const stack = await openStoppedStack(folder).catch((error: unknown) => {
    throw new CliError(error instanceof Error ? error.message : String(error));
  });
  return {
    system: { databaseUrls: stack.databaseUrls, filesFolder: stack.folder.files, dataDir: folder },
    natsUrl: undefined,
    isRunning: false,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

/** A local system that was killed leaves its file behind. */
function hasEnded({ pid }: Runtime): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
