import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@kr/testbed';
import type { TestSystem } from '@kr/testbed/system';
import { type Databases, inOneOnly } from './databases-at-rest.ts';

const DAYS_AGO = new Date(Date.now() - 2 * 86_400_000);

/** Ages all unreferenced objects beyond the grace period. */
export async function ageLeftovers(system: TestSystem, databases: Databases): Promise<void> {
  await databases
    .pool('files')
    .query(
      `update object set unreferenced_at = $1 where not exists (select from entry where object_id = object.id)`,
      [DAYS_AGO],
    );
  // Reservations of uploads whose process died.
  await databases.pool('files').query('update reservation set expires_at = $1', [DAYS_AGO]);
  const referenced = await referencedObjects(databases);
  for (const { path, name } of await filesOnDisk(system)) {
    if (!referenced.has(name)) await utimes(path, DAYS_AGO, DAYS_AGO);
  }
}

/**
 * Lets a new process of the files service collect all leftovers.
 * @throws Error when unreferenced bytes stay, or the bytes of a row are missing
 */
export async function collectGarbage(system: TestSystem, databases: Databases): Promise<void> {
  await ageLeftovers(system, databases);
  await system.relaunch('files');
  let drift: string[] = [];
  const isCollected = async () => {
    const [referenced, onDisk] = await Promise.all([referencedObjects(databases), filesOnDisk(system)]);
    drift = inOneOnly(
      [...referenced],
      onDisk.map(({ name }) => name),
    );
    return drift.length === 0;
  };
  await until(isCollected).catch((cause: unknown) => {
    throw new Error(`bytes and rows differ: ${drift.join(', ')}`, { cause });
  });
}

/** The objects that an entry refers to. */
async function referencedObjects(databases: Databases): Promise<Set<string>> {
  const { rows } = await databases
    .pool('files')
    .query<{ object_id: string }>('select object_id from entry where object_id is not null');
  return new Set(rows.map(({ object_id }) => object_id));
}

async function filesOnDisk({ filesDir }: TestSystem): Promise<{ path: string; name: string }[]> {
  const entries = await readdir(filesDir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name !== 'store-id')
    .map(({ parentPath, name }) => ({ path: join(parentPath, name), name }));
}
