import type { Sql } from '@kr/database';
import { appendEvents } from '@kr/event-bus';
import { loadEntities } from './entity-store.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';

/**
 * Publishes that data besides the content of these entities has changed, such as a relation. Their change numbers
 * stay, so that concurrent edits of the content do not conflict.
 */
export async function tellChanged(
  { kind }: Pick<LifecycleDeps, 'kind'>,
  tx: Sql,
  ids: readonly string[],
): Promise<void> {
  const entities = await loadEntities(tx, ids);
  const events = [...entities.values()].map(({ id, parent, draft, published }) => {
    const revision = Math.max(draft?.revision ?? 0, published?.revision ?? 0);
    return kind.events.changed({ id, parentId: parent.id, revision });
  });
  await appendEvents(tx, events);
}
