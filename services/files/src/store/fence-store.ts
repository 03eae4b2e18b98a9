import type { Fence, FenceState } from '../buckets/fence-rules.ts';
import type { Tx } from './prisma.ts';

/** Locks what is known of a publication, making a row for it first; undefined when nothing was known. */
export async function lockFence(tx: Tx, publicationId: string, now: Date): Promise<Fence | undefined> {
  await tx.$executeRaw`
    insert into participant (publication_id, state, epoch, updated_at) values (${publicationId}, 'new', 0, ${now})
    on conflict (publication_id) do nothing`;
  const [row] = await tx.$queryRaw<{ state: FenceState | 'new'; epoch: number }[]>`
    select state, epoch from participant where publication_id = ${publicationId} for update`;
  return row === undefined || row.state === 'new' ? undefined : { state: row.state, epoch: row.epoch };
}

export async function saveFence(tx: Tx, publicationId: string, fence: Fence, now: Date): Promise<void> {
  await tx.participant.update({
    where: { publicationId },
    data: { state: fence.state, epoch: fence.epoch, updatedAt: now },
  });
}
