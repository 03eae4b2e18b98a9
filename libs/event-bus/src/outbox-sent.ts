import type { Sql } from '@kr/database';
import type { Signal } from './signal.ts';
import { endOf, pollUntil, type Wait } from './waiting.ts';

// Each reads one end of the index of unpublished rows, so the length of the outbox does not matter.
const NEWEST = 'select max(id)::text as id from outbox where published_at is null';
const REMAINING =
  'select exists(select from outbox where published_at is null and id <= $1::bigint) as remain';

/**
 * Whether all rows that are visible now are marked as published within the timeout. It also waits for rows with lower ids
 * that are committed meanwhile, but not for higher ids.
 */
export async function outboxSent(
  database: Sql,
  { nudge, marked }: { nudge: () => void; marked: Signal },
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
  return pollUntil(isSent, marked, ending);
}
