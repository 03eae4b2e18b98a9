import { appendEvents } from '@kr/event-bus';
import { loadEntities } from './entity-store.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';

/**
 * Publishes that data besides the content of these entities has changed, such as a relation. Their change numbers
 * stay, so that concurrent edits of the content do not conflict.
 */
export async function tellChanged<Tx extends LifecycleSql>(
  { kind }: Pick<LifecycleDeps<Tx>, 'kind'>,
  tx: Tx,
  ids: readonly string[],
): Promise<void> {
  const entities = await loadEntities(tx, ids);
  const events = [...entities.values()].map(({ id, parent, draft, published }) => {
    const revision = Math.max(draft?.revision ?? 0, published?.revision ?? 0);
    return kind.events.changed({ id, parentId: parent.id, revision });
  });
  await appendEvents(tx, events);
}
