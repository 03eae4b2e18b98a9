import type { ReceivedEvent } from '@kr/event-bus';
import type { EntityKind, IndexedEntity } from '../documents/entity.ts';
import type { IndexChanges, Tombstone } from '../engine/search-engine.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type EntitySource, fetchEntities } from '../sources/entity-source.ts';

/** Everything that can change a document of the index. */
export const INDEXED_SUBJECTS = [
  'knowledge.records.draft.saved',
  'knowledge.records.draft.deleted',
  'knowledge.records.record.published',
  'knowledge.records.record.changed',
  'knowledge.packages.draft.saved',
  'knowledge.packages.draft.deleted',
  'knowledge.packages.package.published',
  'knowledge.packages.package.changed',
  'knowledge.packages.resources.changed',
  'knowledge.files.entry.started',
  'knowledge.files.entry.completed',
  'knowledge.files.entry.deleted',
] as const;

export type IndexedEvent = ReceivedEvent<(typeof INDEXED_SUBJECTS)[number]>;

/** The combined events of a batch for one entity. */
export interface FetchPlan {
  id: string;
  /** Null: events of files have no kind; the index may know it. */
  kind: EntityKind | null;
  /**
   * `required`: it was published, so the published form must exist, and becomes visible. `staged`: the form is updated
   * only; the event of its publication makes it visible, together with the other entities of the publication.
   */
  published: 'required' | 'staged' | 'unchanged';
  /** The tombstone to write if the entity has no draft; null if no event reported a deletion of the draft. */
  draftDeleted: Pick<Tombstone, 'parentId' | 'revision'> | null;
}

/** Combines a batch of events into one fetch per entity, in any order and with repetitions. */
function planFetches(events: readonly IndexedEvent[]): FetchPlan[] {
  const plans = new Map<string, FetchPlan>();
  for (const event of events) for (const plan of plansOf(event)) merge(plans, plan);
  return [...plans.values()];
}

function plansOf(event: IndexedEvent): FetchPlan[] {
  const changed = (id: string, kind: EntityKind | null): FetchPlan => ({
    id,
    kind,
    published: 'staged',
    draftDeleted: null,
  });
  const published = (id: string, kind: EntityKind, parentId: string): FetchPlan => ({
    id,
    kind,
    published: 'required',
    // The published form decides: a publication's change number is above those of its earlier drafts.
    draftDeleted: { parentId, revision: '0' },
  });
  const kind = event.subject.startsWith('knowledge.packages.') ? 'package' : 'record';
  switch (event.subject) {
    case 'knowledge.records.draft.saved':
    case 'knowledge.packages.draft.saved':
      return [{ id: event.payload.id, kind, published: 'unchanged', draftDeleted: null }];
    case 'knowledge.records.draft.deleted':
    case 'knowledge.packages.draft.deleted': {
      const { id, parentId, revision, packageIds } = event.payload;
      return [
        { id, kind, published: 'unchanged', draftDeleted: { parentId, revision } },
        ...packageIds.map((packageId) => changed(packageId, 'package')),
      ];
    }
    case 'knowledge.records.record.published': {
      const { id, parentId, packageId } = event.payload;
      return packageId === '' ? [published(id, kind, parentId)] : [];
    }
    case 'knowledge.packages.package.published': {
      const { id, parentId, recordIds } = event.payload;
      return [
        published(id, kind, parentId),
        ...recordIds.map((recordId) => published(recordId, 'record', '')),
      ];
    }
    case 'knowledge.records.record.changed':
    case 'knowledge.packages.package.changed':
      return [changed(event.payload.id, kind)];
    case 'knowledge.packages.resources.changed':
      return [changed(event.payload.id, kind), ...event.payload.recordIds.map((id) => changed(id, 'record'))];
    case 'knowledge.files.entry.started':
    case 'knowledge.files.entry.completed':
    case 'knowledge.files.entry.deleted':
      return [changed(event.payload.entityId, null)];
  }
}

const STRENGTH = { unchanged: 0, staged: 1, required: 2 } as const;

function merge(plans: Map<string, FetchPlan>, next: FetchPlan): void {
  const before = plans.get(next.id);
  if (before === undefined) {
    plans.set(next.id, next);
    return;
  }
  plans.set(next.id, {
    id: next.id,
    kind: before.kind ?? next.kind,
    published: STRENGTH[next.published] > STRENGTH[before.published] ? next.published : before.published,
    draftDeleted: later(before.draftDeleted, next.draftDeleted),
  });
}

function later(one: FetchPlan['draftDeleted'], other: FetchPlan['draftDeleted']): FetchPlan['draftDeleted'] {
  if (one === null || other === null) return one ?? other;
  return { parentId: one.parentId || other.parentId, revision: higher(one.revision, other.revision) };
}

/** The higher of two change numbers. */
function higher(one: string, other: string): string {
  return BigInt(one) > BigInt(other) ? one : other;
}

/**
 * Updates the index to the present state of all entities in a batch, in one transaction: a package
 * and the resources published with it appear together.
 * @throws Error when a published entity cannot be read as such: the event is tried again later
 */
export async function applyEvents(
  index: SearchIndex,
  source: EntitySource,
  events: readonly IndexedEvent[],
): Promise<void> {
  const plans = await withKinds(index, planFetches(events));
  if (plans.length === 0) return;
  const removed = new Map<string, Tombstone>();
  const forms = await fetchEntities(source, plans, (tombstone) => removed.set(tombstone.id, tombstone));
  const fetched = Map.groupBy(forms, ({ id }) => id);
  await index.write(changesOf(plans, fetched, removed));
}

type PlanOfKind = FetchPlan & { kind: EntityKind };

/** Plans of unknown kind are dropped: the event that creates the entity fetches its newest state anyway. */
async function withKinds(index: SearchIndex, plans: readonly FetchPlan[]): Promise<PlanOfKind[]> {
  const ids = plans.filter(({ kind }) => kind === null).map(({ id }) => id);
  const kinds = ids.length === 0 ? new Map<string, EntityKind>() : await index.kindsOf(ids);
  return plans.flatMap((plan) => {
    const kind = plan.kind ?? kinds.get(plan.id);
    return kind === undefined ? [] : [{ ...plan, kind }];
  });
}

function changesOf(
  plans: readonly PlanOfKind[],
  fetched: ReadonlyMap<string, readonly IndexedEntity[]>,
  removed: ReadonlyMap<string, Tombstone>,
): IndexChanges {
  const entities: IndexedEntity[] = [];
  const staged: IndexedEntity[] = [];
  const tombstones: Tombstone[] = [];
  for (const { id, kind, published, draftDeleted } of plans) {
    const forms = fetched.get(id) ?? [];
    const draft = forms.find(({ form }) => form === 'draft');
    const publishedForm = forms.find(({ form }) => form === 'published');
    const removal = removed.get(id);
    if (draft) entities.push(draft);
    else if (draftDeleted) {
      const other = publishedForm ?? removal;
      const parentId = other?.parentId || draftDeleted.parentId;
      const revision = higher(draftDeleted.revision, other?.revision ?? '0');
      tombstones.push({ id, form: 'draft', kind, parentId, revision });
    }
    if (removal) tombstones.push(removal);
    else if (published === 'required' && !publishedForm) throw new Error(`${kind} ${id} is not published`);
    if (publishedForm && published === 'required') entities.push(publishedForm);
    if (publishedForm && published === 'staged') staged.push(publishedForm);
  }
  return { entities, staged, tombstones };
}
