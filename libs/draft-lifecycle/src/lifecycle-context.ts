import { ServiceError } from '@kr/service-error';
import type { DocumentBudget } from './document-budget.ts';
import type { Entity } from './entity.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';
import { notFound, notRegistered, whyMissing } from './missing-entity.ts';
import type { OwnerRoom } from './owner-limits.ts';
import type { PublicationResolver } from './publication-resolver.ts';
import { removedError } from './removal.ts';

/** Shared by the operations: the dependencies, and one cache of decisions. */
export interface LifecycleContext extends LifecycleDeps {
  publications: PublicationResolver;
  documents: DocumentBudget;
  owners: OwnerRoom;
}

/** Entities as every reader must see them: what a decided publication staged is applied first. */
export interface SettledEntities {
  entities: Map<string, Entity>;
  /**
   * Entities in an unknown state, because the decision of a publication is unknown or not stored, with the
   * error.
   */
  undecidable: ReadonlyMap<string, ServiceError>;
}

/** The entities of these ids, with their relations, without missing ones. `load` reads them. */
export async function findSettled(
  context: LifecycleContext,
  ids: readonly string[],
  load = () => context.store.loadEntities(context.database, ids, context.kind.related, context.documents),
): Promise<SettledEntities> {
  const asked = new Set<string>();
  const unknown = new Map<string, ServiceError>();
  for (;;) {
    const entities = await load();
    const pending = [...new Set([...entities.values()].flatMap((entity) => entity.pending))];
    const fresh = pending.filter((id) => !asked.has(id));
    const settled = fresh.length === 0 ? undefined : await context.publications.settle(fresh);
    for (const [id, why] of settled?.unknown ?? []) unknown.set(id, why);
    if (settled?.isChanged !== true) {
      const undecidable = new Map<string, ServiceError>();
      for (const { id, pending } of entities.values()) {
        const why = pending.map((publication) => unknown.get(publication)).find((one) => one !== undefined);
        if (why !== undefined) undecidable.set(id, why);
      }
      return { entities, undecidable };
    }
    for (const id of fresh) asked.add(id);
  }
}

/**
 * The entities of these ids, in the state that every reader must see.
 *
 * @throws ServiceError - `unavailable`: one is staged and the coordinator cannot be reached - `internal`: a
 * decision cannot be applied
 */
export async function findEntities(
  context: LifecycleContext,
  ids: readonly string[],
): Promise<Map<string, Entity>> {
  const found = await findSettled(context, ids);
  const [why] = found.undecidable.values();
  if (why !== undefined) throw why;
  return found.entities;
}

/**
 * One entity.
 *
 * @throws ServiceError
 *   - `not_found`: no entity of this kind has the id
 *   - `unavailable`: as `findEntities`
 */
export async function getEntity(context: LifecycleContext, id: string): Promise<Entity> {
  const entity = (await findEntities(context, [id])).get(id);
  if (entity === undefined) throw (await whyMissing(context, [id]))(id);
  return entity;
}

/** @throws ServiceError `not_found` when there is no draft */
export function draftFace({ draft }: Entity): NonNullable<Entity['draft']> {
  if (draft === null) throw notFound();
  return draft;
}

/** @throws ServiceError `not_found` when it was never published, `gone` when it is removed */
export function publishedFace({ published }: Entity): NonNullable<Entity['published']> {
  if (published === null) throw notRegistered();
  if (published.removal !== undefined) throw removedError(published.removal);
  return published;
}

/** @throws ServiceError `precondition_failed` when the caller has seen another revision; zero accepts any */
export function assertRevision(ifRevision: string | number, { revision }: { revision: number }): void {
  const given = Number(ifRevision);
  if (given === 0 || given === revision) return;
  throw new ServiceError(
    'precondition_failed',
    `Revision id provided(${given}) doesn't match record's one(${revision})`,
    { currentRevision: revision },
  );
}
