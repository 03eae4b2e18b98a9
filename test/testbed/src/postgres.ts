import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startPostgres } from '@kr/local-stack/backends';
import { newRunFolder } from './run-folder.ts';

export interface TestPostgres {
  /** Superuser URL of a database that is only used to make others. */
  url: string;
  stop(): Promise<void>;
}

/** A real Postgres: the one that `TEST_DATABASE_URL` names, else a local program, else a container. */
export async function openPostgres(given: string | undefined): Promise<TestPostgres> {
  if (given !== undefined && given !== '') return { url: given, stop: () => Promise.resolve() };
  try {
    return await startLocalPostgres();
  } catch (cause) {
    const container = await import('./container.ts');
    if (await container.hasContainerRuntime()) return container.startPostgresContainer();
    throw new Error(`No Postgres for the tests; TEST_DATABASE_URL may name one. ${String(cause)}`, { cause });
  }
}

async function startLocalPostgres(): Promise<TestPostgres> {
  const folder = await newRunFolder('postgres');
  const running = await startPostgres({
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    password: 'test',
    durability: 'fast',
  });
  return {
    url: running.url,
    stop: async () => {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
