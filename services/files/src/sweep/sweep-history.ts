import type { Database } from '../store/prisma.ts';

/** Longer than any ticket holds and any message is under way. */
const BARRED_MS = 86_400_000;
const FENCED_MS = 30 * 86_400_000;

/** Forgets the barred buckets of entities that are gone, and publications that were settled long ago. */
export async function sweepHistory({
  database,
  now,
}: {
  database: Database;
  now: () => Date;
}): Promise<void> {
  const at = now().getTime();
  await database.bucket.deleteMany({
    where: { state: 'removed', updatedAt: { lt: new Date(at - BARRED_MS) } },
  });
  await database.participant.deleteMany({
    where: { state: { in: ['new', 'applied', 'aborted'] }, updatedAt: { lt: new Date(at - FENCED_MS) } },
  });
}
