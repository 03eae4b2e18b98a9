import type { Database } from './prisma.ts';

export interface StoreMark {
  id: string;
  /** When the store was first seen to have it; null before. */
  markedAt: Date | null;
}

/** The identity for the store of these rows' bytes; created by the first call. */
export async function ownMark(db: Database, newId: () => string): Promise<StoreMark> {
  await db.$executeRaw`insert into store_mark (id) values (${newId()}::uuid) on conflict do nothing`;
  return db.storeMark.findFirstOrThrow({ select: { id: true, markedAt: true } });
}

export async function setMarked(db: Database, markedAt: Date): Promise<void> {
  await db.storeMark.updateMany({ where: { markedAt: null }, data: { markedAt } });
}

export async function newestObjects(db: Database, limit: number): Promise<string[]> {
  const found = await db.storedObject.findMany({
    select: { id: true },
    orderBy: { createdAt: 'desc' },
    take: limit,
  });
  return found.map(({ id }) => id);
}
