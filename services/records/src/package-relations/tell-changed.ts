import { type LifecycleContext, loadEntities } from '@kr/draft-lifecycle';
import { appendEvents } from '@kr/event-bus';
import type { Tx } from '../store/prisma.ts';

/** Tells that the relation of these records has changed; their own change numbers stay, as it is no change of theirs. */
export async function tellChanged(
  { kind }: Pick<LifecycleContext<Tx>, 'kind'>,
  tx: Tx,
  recordIds: readonly string[],
): Promise<void> {
  const entities = await loadEntities(tx, recordIds);
  const events = [...entities.values()].map(({ id, parent, draft, published }) => {
    const revision = Math.max(draft?.revision ?? 0, published?.revision ?? 0);
    return kind.events.changed({ id, parentId: parent.id, revision });
  });
  await appendEvents(tx, events);
}
