import type {
  EntityKind,
  IndexChanges,
  IndexedEntity,
  SearchEngine,
  Tombstone,
} from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchEntities } from '../sources/fetch-entities.ts';
import { type FetchPlan, higher, type IndexedEvent, planFetches } from './plan-fetches.ts';

/**
 * Brings the index to the present state of everything that a batch of events names, in one transaction: a package
 * and the resources published with it appear together.
 *
 * @throws Error when an entity said to be published is not: the event is tried again later
 */
export async function applyEvents(
  engine: SearchEngine,
  source: EntitySource,
  events: readonly IndexedEvent[],
): Promise<void> {
  const plans = await withKinds(engine, planFetches(events));
  if (plans.length === 0) return;
  const removed = new Map<string, Tombstone>();
  const forms = await fetchEntities(source, plans, (tombstone) => removed.set(tombstone.id, tombstone));
  const fetched = Map.groupBy(forms, ({ id }) => id);
  await engine.write(changesOf(plans, fetched, removed));
}

type KnownPlan = FetchPlan & { kind: EntityKind };

/** Plans whose kind nobody knows are dropped: the event that brings the entity fetches its newest state anyway. */
async function withKinds(engine: SearchEngine, plans: readonly FetchPlan[]): Promise<KnownPlan[]> {
  const asked = plans.filter(({ kind }) => kind === null).map(({ id }) => id);
  const kinds = asked.length === 0 ? new Map<string, EntityKind>() : await engine.kindsOf(asked);
  return plans.flatMap((plan) => {
    const kind = plan.kind ?? kinds.get(plan.id);
    return kind === undefined ? [] : [{ ...plan, kind }];
  });
}

function changesOf(
  plans: readonly KnownPlan[],
  fetched: ReadonlyMap<string, readonly IndexedEntity[]>,
  removed: ReadonlyMap<string, Tombstone>,
): IndexChanges {
  const entities: IndexedEntity[] = [];
  const unannounced: IndexedEntity[] = [];
  const tombstones: Tombstone[] = [];
  for (const { id, kind, published, draftGone } of plans) {
    const forms = fetched.get(id) ?? [];
    const draft = forms.find(({ form }) => form === 'draft');
    const publishedForm = forms.find(({ form }) => form === 'published');
    const removal = removed.get(id);
    if (draft) entities.push(draft);
    else if (draftGone) {
      const shown = publishedForm ?? removal;
      const parentId = shown?.parentId || draftGone.parentId;
      const revision = higher(draftGone.revision, shown?.revision ?? '0');
      tombstones.push({ id, form: 'draft', kind, parentId, revision });
    }
    if (removal) tombstones.push(removal);
    else if (published === 'required' && !publishedForm) throw new Error(`${kind} ${id} is not published`);
    if (publishedForm && published === 'required') entities.push(publishedForm);
    if (publishedForm && published === 'known') unannounced.push(publishedForm);
  }
  return { entities, unannounced, tombstones };
}
