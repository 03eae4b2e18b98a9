import type { AuditTrail } from '@kr/contracts';
import type { Sql, SqlDatabase } from '@kr/database';
import type { Vocabularies } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import type { Entity, OpenDraft } from '../model/entity.ts';
import { removedError } from '../model/entity.ts';
import type { FileCounts } from '../model/files.ts';
import { isEntityId } from '../model/ids.ts';
import type { DiscardedDraft, EntityKind } from '../model/kind.ts';
import type { DocumentBudget } from '../store/document-budget.ts';
import type { LifecycleStore } from '../store/lifecycle-store.ts';
import type { DraftQuota, OwnerLimits } from './owner-limits.ts';

/** `undecided` may change at any moment and is never remembered. */
export type Decision = 'committed' | 'aborted' | 'undecided';

/** Dependencies of the operations; built once by the service. */
export interface LifecycleDeps {
  kind: EntityKind;
  database: SqlDatabase;
  store: LifecycleStore;
  now: () => Date;
  /** A new entity or parent id; see `newEntityId`. */
  newId: () => string;
  /** The prefix of the DOIs that this installation assigns, such as `10.5072`. */
  doiPrefix: string;
  /** The middle part of `oai:<prefix>:<id>`. */
  oaiPrefix: string;
  vocabularies: Vocabularies;
  ticketKeys: { files: string; 'access-links': string };
  /** Counts of buckets, in one call for any number; a bucket that is not in the answer is empty. */
  describeBuckets(entityIds: readonly string[]): Promise<ReadonlyMap<string, FileCounts>>;
  /** Queries the coordinator. Throws when it cannot be reached within 3 s. */
  resolvePublications(publicationIds: readonly string[]): Promise<ReadonlyMap<string, Decision>>;
  /** The ids of the other kind of entity among these. A failed call counts as none. */
  findIdsOfOtherKind(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** The external DOIs of the other kind of entity among these. Throws when it cannot be reached. */
  findDoisOfOtherKind(dois: readonly string[]): Promise<ReadonlySet<string>>;
  /** The states of the DOIs of these versions and parents, by DOI; undefined while none is registered with DataCite. */
  doiStates?: ((ids: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
  ownerLimits: OwnerLimits;
  /** Called after an update is committed; its errors are those of the update's caller. */
  afterUpdate?(draft: OpenDraft, requestId: string): Promise<void>;
  /** Called after a draft is deleted. */
  afterDelete?(draft: DiscardedDraft, requestId: string): Promise<void>;
  /** Trails of the entity that other services store. */
  furtherTrails?(parentId: string, limit: number, requestId: string): Promise<AuditTrail[]>;
  /** Called after a transaction that wrote events: wakes the relay. */
  wakeRelay(): void;
  /** Whether all events committed before the call are sent within `timeoutMs`; answers as soon as they are. */
  waitUntilRelayed(wait: { timeoutMs: number; signal?: AbortSignal }): Promise<boolean>;
  logger: Logger;
}

/** Outcome of querying publications. */
export interface ResolveResult {
  /** A decision was applied, so entities must be read again. */
  isChanged: boolean;
  /** Publications whose decision is unknown or could not be applied, with the error for readers. */
  unknown: ReadonlyMap<string, ServiceError>;
}

/** Reads the decisions about publications from the coordinator and applies them here. */
export interface PublicationResolver {
  /** Queries these publications concurrently, and applies the decided ones. */
  resolve(publicationIds: readonly string[]): Promise<ResolveResult>;
}

/** Shared by the operations: the dependencies, and one cache of decisions. */
export interface LifecycleContext extends LifecycleDeps {
  publications: PublicationResolver;
  documentBudget: DocumentBudget;
  draftQuota: DraftQuota;
}

/** Entities as every reader must see them: decided publications are applied first. */
export interface ResolvedEntities {
  entities: Map<string, Entity>;
  /**
   * Entities in an unknown state, because the decision of a publication is unknown or not stored, with the
   * error.
   */
  unresolved: ReadonlyMap<string, ServiceError>;
}

/** The entities of these ids, with their relations, without missing ones. */
export async function readResolved(
  context: LifecycleContext,
  ids: readonly string[],
): Promise<ResolvedEntities> {
  const { database, documentBudget, kind, store } = context;
  const resolved = new Set<string>();
  const unknown = new Map<string, ServiceError>();
  for (;;) {
    const entities = await store.loadEntities(database, ids, kind.related, documentBudget);
    const pending = [...new Set([...entities.values()].flatMap((entity) => entity.pending))];
    const fresh = pending.filter((id) => !resolved.has(id));
    const outcome = fresh.length === 0 ? undefined : await context.publications.resolve(fresh);
    for (const [id, error] of outcome?.unknown ?? []) unknown.set(id, error);
    if (outcome?.isChanged !== true) {
      const unresolved = new Map<string, ServiceError>();
      for (const { id, pending } of entities.values()) {
        const error = pending.map((publication) => unknown.get(publication)).find((one) => one !== undefined);
        if (error !== undefined) unresolved.set(id, error);
      }
      return { entities, unresolved };
    }
    for (const id of fresh) resolved.add(id);
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
  const found = await readResolved(context, ids);
  const [error] = found.unresolved.values();
  if (error !== undefined) throw error;
  return found.entities;
}

/**
 * @throws ServiceError
 *   - `not_found`: no entity of this kind has the id
 *   - `unavailable`: as `findEntities`
 */
export async function getEntity(context: LifecycleContext, id: string): Promise<Entity> {
  const entity = (await findEntities(context, [id])).get(id);
  if (entity === undefined) throw (await notFoundErrors(context, [id]))(id);
  return entity;
}

/** @throws ServiceError `not_found` when there is no draft */
export function requireDraft({ draft }: Entity): NonNullable<Entity['draft']> {
  if (draft === null) throw notFound();
  return draft;
}

/** @throws ServiceError `not_found` when it was never published, `gone` when it is removed */
export function requirePublished({ published }: Entity): NonNullable<Entity['published']> {
  if (published === null) throw notRegistered();
  if (published.removal !== undefined) throw removedError(published.removal);
  return published;
}

/** @throws ServiceError `precondition_failed` when the entity is at another revision; zero accepts any */
export function assertRevision(ifRevision: string | number, { revision }: { revision: number }): void {
  const expected = Number(ifRevision);
  if (expected === 0 || expected === revision) return;
  throw new ServiceError(
    'precondition_failed',
    `Revision id provided(${expected}) doesn't match record's one(${revision})`,
    { currentRevision: revision },
  );
}

/** Runs a change in one transaction and wakes the relay for the events it wrote. */
export async function transact<Result>(
  { database, wakeRelay }: Pick<LifecycleDeps, 'database' | 'wakeRelay'>,
  run: (tx: Sql) => Promise<Result>,
): Promise<Result> {
  const result = await database.$transaction(run, { timeout: 10_000 });
  wakeRelay();
  return result;
}

/** No such identifier. */
export function unknownId(): ServiceError {
  return new ServiceError('not_found', 'The persistent identifier does not exist.');
}

/** The entity exists, but has no published form. */
export function notRegistered(): ServiceError {
  return new ServiceError('not_found', 'The persistent identifier is not registered.', {
    code: 'not_published',
  });
}

/** The id exists but not in this role: no draft, a parent's id, an id of the other kind. */
export function notFound(hint?: string): ServiceError {
  return new ServiceError('not_found', 'Not found.', hint === undefined ? {} : { members: { hint } });
}

/** Why each of these ids is no entity of this kind. */
export async function notFoundErrors(
  deps: Pick<LifecycleDeps, 'database' | 'findIdsOfOtherKind' | 'kind'>,
  ids: readonly string[],
): Promise<(id: string) => ServiceError> {
  const possible = ids.filter(isEntityId);
  if (possible.length === 0) return unknownId;
  const parents = await deps.database.$queryRawUnsafe<{ id: string }[]>(
    'select id from parent where id = any($1::text[])',
    possible,
  );
  const parentIds = new Set(parents.map(({ id }) => id));
  const others = await deps.findIdsOfOtherKind(possible.filter((id) => !parentIds.has(id)));
  const other = deps.kind.name === 'record' ? 'package' : 'record';
  return (id) => {
    if (others.has(id)) return notFound(`${id} is a ${other}: /api/${other}s/${id}.`);
    return parentIds.has(id)
      ? notFound(`${id} is the id of all versions; use the id of one of them.`)
      : unknownId();
  };
}
