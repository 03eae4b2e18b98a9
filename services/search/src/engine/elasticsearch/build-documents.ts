import type { Client } from '@elastic/elasticsearch';
import type { IndexedEntity } from '../search-engine.ts';
import { yieldToEventLoop } from '../yield-to-event-loop.ts';
import { decideChanges, type Heads } from './decide-changes.ts';
import { aboutForms, refresh, writeDecided } from './documents.ts';
import { type StoredContent, storedContent } from './stored-document.ts';

/** A refresh shows all of them at once. */
const MOST_UNSEEN = 5_000;

/**
 * Writes pages into an index that is being built, without other writers. A refresh costs as much as writing some hundred documents,
 * so it is done only before siblings of documents written since the last one: other documents depend on no unseen ones.
 * @param inTurn does the work without other writers, if that index is still the one that is being built
 */
export function buildWriter(
  client: Client,
  inTurn: (index: string, work: () => Promise<void>) => Promise<void>,
) {
  let unseen = { index: '', parentIds: new Set<string>() };
  const needsRefresh = (index: string, parentIds: readonly string[]): boolean =>
    unseen.index !== index ||
    unseen.parentIds.size > MOST_UNSEEN ||
    parentIds.some((id) => unseen.parentIds.has(id));

  return async (index: string, entities: readonly IndexedEntity[]): Promise<void> => {
    // Before its turn, while the page before it is being written.
    const contents = await contentsOf(entities);
    const contentOf = (entity: IndexedEntity) => contents.get(entity) ?? storedContent(entity);
    const decide = (heads: Heads) =>
      decideChanges(heads, { entities }, new Date(), [], { replacesSame: false, contentOf });
    const parentIds = entities.map(({ parentId }) => parentId);
    await inTurn(index, async () => {
      if (needsRefresh(index, parentIds)) {
        await refresh(client, index);
        // Only now: where that failed, they are unseen still.
        unseen = { index, parentIds: new Set() };
      }
      for (const id of parentIds) unseen.parentIds.add(id);
      const settings = { isSearched: false, isRefreshed: true };
      await writeDecided(client, index, aboutForms(entities), decide, settings);
    });
  };
}

async function contentsOf(entities: readonly IndexedEntity[]): Promise<Map<IndexedEntity, StoredContent>> {
  const inTurns = yieldToEventLoop();
  const contents = new Map<IndexedEntity, StoredContent>();
  for (const entity of entities) contents.set(entity, await inTurns(contentStep(entity)));
  return contents;
}

function* contentStep(entity: IndexedEntity): Generator<void, StoredContent> {
  yield;
  return storedContent(entity);
}
