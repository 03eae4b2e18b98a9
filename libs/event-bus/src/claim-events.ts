import type { Sql } from '@kr/database';
import type { ReceivedEvent } from './received-event.ts';

const CLAIM = `
  insert into inbox (consumer, event_id)
  select $1, event_id from jsonb_array_elements_text($2::jsonb) as event_id
  on conflict do nothing
  returning event_id`;

/**
 * The events that this consumer has not done yet, marked as done. Call it in the transaction of the effect, for
 * effects that must not happen twice; an effect guarded by the entity's revision needs no inbox.
 */
export async function claimEvents<Event extends Pick<ReceivedEvent, 'id'>>(
  tx: Sql,
  consumer: string,
  events: readonly Event[],
): Promise<Event[]> {
  const ids = [...new Set(events.map(({ id }) => id))].sort();
  const rows = await tx.$queryRawUnsafe<{ event_id: string }[]>(CLAIM, consumer, JSON.stringify(ids));
  const claimed = new Set(rows.map((row) => row.event_id));
  // `delete` so that of two copies in one batch the first alone counts.
  return events.filter(({ id }) => claimed.delete(id));
}
