import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupSystem } from '@kr/backup';
import type { AdminEndpoint, AdminService } from '@kr/local-stack';
import { CliError } from '../cli-error.ts';

/** `runtime.json` of a local system or of a folder for operators: how operators reach the services and the data. */
export interface Runtime {
  /** The supervisor of a local system. */
  pid?: number;
  admin?: Partial<Record<AdminService, AdminEndpoint>>;
  databases?: BackupSystem['databaseUrls'];
  files_folder?: string;
  nats?: string;
}

/** Undefined when the folder has none. @throws CliError when it cannot be read */
export async function readRuntime(folder: string): Promise<Runtime | undefined> {
  const file = join(folder, 'runtime.json');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${file}: ${error.code}`);
  });
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Runtime;
  } catch {
    throw new CliError(`${file} is not valid JSON; restart the system`);
  }
}

/**
 * The admin endpoint of a service, in the first of these folders with a running system.
 * @throws CliError if no system is running, or its file has no address
 */
export async function findAdminEndpoint(
  dataDirs: readonly string[],
  service: AdminService,
): Promise<AdminEndpoint & { folder: string }> {
  for (const folder of dataDirs) {
    const runtime = await readRuntime(folder);
    if (runtime === undefined) continue;
    const endpoint = runtime.admin?.[service];
    if (endpoint !== undefined) return { ...endpoint, folder };
    throw new CliError(
      `${join(folder, 'runtime.json')} has no address of ${service}; start the system again`,
    );
  }
  throw new CliError(
    `No running system in ${dataDirs.join(' or ')}. \`npm start\` starts one; --data-dir names another folder.`,
  );
}
