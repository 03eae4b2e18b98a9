import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type RunningPostgres, startPostgres } from '../backends/postgres.ts';
import { type DataFolder, dataFolder } from './data-folder.ts';
import { ensureDatabases } from './databases.ts';
import { prepareFolder } from './prepare-folder.ts';
import { openProcessList } from './process-list.ts';
import { loadSecrets } from './secrets.ts';
import type { ServiceName } from './service-names.ts';

/** The databases of a stopped system, without other clients. */
export interface StoppedStack extends AsyncDisposable {
  folder: DataFolder;
  databaseUrls: Record<ServiceName, string>;
}

/**
 * Starts only the Postgres of a data folder, for work on its data; databases and keys are made where they are missing.
 * The folder is claimed until the end: no system starts on it meanwhile.
 *
 * @throws AlreadyRunning when a system runs on the folder; Error when Postgres does not start
 */
export async function openStoppedStack(dataDir: string): Promise<StoppedStack> {
  const folder = dataFolder(resolve(dataDir));
  await prepareFolder(folder);
  const processes = await openProcessList(folder.processesFile);
  let postgres: RunningPostgres | undefined;
  const end = async (): Promise<void> => {
    await postgres?.stop();
    await rm(folder.processesFile, { force: true });
  };
  try {
    const secrets = await loadSecrets(folder.secretsFile);
    postgres = await startPostgres({
      dataDir: folder.postgres,
      logFile: folder.logFile('postgres'),
      password: secrets.postgresPassword,
      durability: 'safe',
    });
    if (postgres.child.pid !== undefined) processes.add('postgres', postgres.child.pid);
    const databaseUrls = await ensureDatabases(postgres.url, 'kr', secrets.databasePasswords);
    return { folder, databaseUrls, [Symbol.asyncDispose]: end };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}
