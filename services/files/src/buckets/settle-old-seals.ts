import type { Database } from '../store/prisma.ts';
import type { SettlePublications } from './settle-publications.ts';

/** Milliseconds a seal may last before its coordinator is asked: publishing takes far less. */
const OLD_AFTER_MS = 3_000;
const BATCH = 100;

/** Asks about seals that have lasted; a decision whose message was lost is carried out so. */
export async function settleOldSeals({
  database,
  settle,
  now,
}: {
  database: Database;
  settle: SettlePublications;
  now: () => Date;
}): Promise<void> {
  const before = new Date(now().getTime() - OLD_AFTER_MS);
  const rows = await database.$queryRaw<{ publication_id: string }[]>`
    select distinct publication_id from bucket where state = 'sealed' and sealed_at < ${before} limit ${BATCH}`;
  if (rows.length > 0) await settle(rows.map(({ publication_id }) => publication_id));
}
