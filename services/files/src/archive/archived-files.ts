import type { Tx } from '../store/prisma.ts';

/** A completed file as an archive has it. */
export interface ArchivedFile {
  key: string;
  objectId: string;
  sizeBytes: number;
  /** Null where it was not computed when the bytes came. */
  crc32: number | null;
  storedAt: Date;
}

/** The completed files of an entity in the order they were started, as they are at one moment. */
export async function archivedFiles(db: Tx, entityId: string): Promise<ArchivedFile[]> {
  // Postgres has no such text, and fails when it is asked for it.
  if (entityId.includes('\0')) return [];
  const rows = await db.$queryRaw<
    { key: string; id: string; size: bigint; crc32: bigint | null; created_at: Date }[]
  >`
    select e.key, o.id, o.size, o.crc32, o.created_at
    from entry e join object o on o.id = e.object_id
    where e.entity_id = ${entityId} and e.state = 'completed'
    order by e.position`;
  return rows.map(({ key, id, size, crc32, created_at }) => ({
    key,
    objectId: id,
    sizeBytes: Number(size),
    crc32: crc32 === null ? null : Number(crc32),
    storedAt: created_at,
  }));
}
