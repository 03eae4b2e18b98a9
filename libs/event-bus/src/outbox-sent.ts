import type { Sql } from '@kr/database';

import { endOf, lookUntil, type News, type Wait } from './news.ts';

/** SQL of a condition: that an event of a committed change may not be in the stream yet. */
export const HAS_UNSENT = 'exists (select from outbox where published_at is null)';

// Each reads one end of the index of unpublished rows, however long the outbox is.
const NEWEST = 'select max(id)::text as id from outbox where published_at is null';
const REMAINING =
  'select exists(select from outbox where published_at is null and id <= $1::bigint) as remain';

/**
 * Whether every row that can be seen now is flagged within the time. A row with a lower id that is committed meanwhile
 * is waited for too, which does no harm; one with a higher id is not.
 */
export async function outboxSent(
  database: Sql,
  { nudge, flagged }: { nudge: () => void; flagged: News },
  wait: Wait,
): Promise<boolean> {
  const ending = endOf(wait);
  const [newest] = await database.$queryRawUnsafe<{ id: string | null }[]>(NEWEST);
  const id = newest?.id ?? null;
  if (id === null) return true;
  nudge();
  const isSent = async () => {
    const [left] = await database.$queryRawUnsafe<{ remain: boolean }[]>(REMAINING, id);
    return left?.remain === false;
  };
  return lookUntil(isSent, flagged, ending);
}
