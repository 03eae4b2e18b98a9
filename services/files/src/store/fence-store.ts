import { executeWithNext, type Sql } from '@kr/database';
import type { Fence, FenceState } from '../buckets/fence-rules.ts';

/** Locks what is known of a publication, making a row for it first; undefined when nothing was known. */
export async function lockFence(tx: Sql, publicationId: string, now: Date): Promise<Fence | undefined> {
  // A row that is there is written again as it is: that waits for whoever holds it, and then reads what that one left.
  const [row] = await tx.$queryRawUnsafe<{ state: FenceState | 'new'; epoch: number }[]>(
    `insert into participant (publication_id, state, epoch, updated_at) values ($1, 'new', 0, $2::timestamptz)
     on conflict (publication_id) do update set updated_at = participant.updated_at
     returning state, epoch`,
    publicationId,
    now.toISOString(),
  );
  return row === undefined || row.state === 'new' ? undefined : { state: row.state, epoch: row.epoch };
}

export async function saveFence(tx: Sql, publicationId: string, fence: Fence, now: Date): Promise<void> {
  await executeWithNext(
    tx,
    'update participant set state = $2, epoch = $3::int, updated_at = $4::timestamptz where publication_id = $1',
    publicationId,
    fence.state,
    fence.epoch,
    now.toISOString(),
  );
}
