import { eachService, type ServiceName } from '@kr/local-stack';
import { type BackupSystem, IN_ORDER, type Progress } from './backup-system.ts';
import { type DumpedDatabase, openSnapshot, type Snapshot } from './dump-database.ts';
import type { Part } from './part.ts';
import { withPublicationsPaused } from './publication-barrier.ts';
import { type ListedObjects, writeObjectList } from './stored-objects.ts';

export interface DumpedDatabases {
  takenAt: Date;
  databases: Record<ServiceName, DumpedDatabase>;
  objects: ListedObjects;
  parts: Part[];
}

/**
 * Writes all databases as of one instant, and the list of their objects. Each snapshot is closed as soon as
 * its database is written, because it blocks switches and migrations of its tables.
 *
 * @throws Error when a database cannot be reached or locked
 */
export async function dumpDatabases(
  { databaseUrls }: BackupSystem,
  { folder, now, progress }: { folder: string; now: () => Date; progress: Progress },
): Promise<DumpedDatabases> {
  const snapshots = new Map<ServiceName, Snapshot>();
  try {
    for (const service of IN_ORDER)
      snapshots.set(service, await openSnapshot(service, databaseUrls[service]));
    const takenAt = await withPublicationsPaused(databaseUrls.packages, async () => {
      const moment = now();
      for (const snapshot of snapshots.values()) await snapshot.take();
      return moment;
    });
    const databases = new Map<ServiceName, DumpedDatabase>();
    const parts: Part[] = [];
    let objects: ListedObjects | undefined;
    for (const [service, snapshot] of snapshots) {
      progress.step(`database of ${service}`);
      const dumped = await snapshot.dump(folder);
      databases.set(service, dumped.database);
      parts.push(...dumped.parts);
      if (service === 'files') objects = await writeObjectList(folder, snapshot.client);
      await snapshot.close();
    }
    return {
      takenAt,
      databases: eachService((service) => databases.get(service) as DumpedDatabase),
      objects: objects as ListedObjects,
      parts,
    };
  } finally {
    await Promise.all([...snapshots.values()].map((snapshot) => snapshot.close()));
  }
}
