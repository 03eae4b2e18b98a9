import type {
  EntityDocument,
  EntityRef as EntityRefMessage,
  EntityResult,
  ListVersionsRequest__Output,
  ListVersionsResponse,
  ReadEntitiesRequest__Output,
  ReadEntitiesResponse,
  ReadLatestRequest__Output,
  ReadLatestResponse,
} from '@kr/contracts';
import { accessStatus, OPEN_ACCESS, type StoredAccess } from '@kr/metadata';
import { type CallContext, toErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import {
  getEntity,
  type LifecycleContext,
  notFoundErrors,
  notRegistered,
  readResolved,
  requireDraft,
  requirePublished,
} from '../context/context.ts';
import { assertAllowedOn, isAllowedOn } from '../model/access.ts';
import { type Entity, type Form, refKey } from '../model/entity.ts';
import { loadLatest, loadVersionIds, loadVersionPage, type VersionPage } from '../store/entities.ts';
import { ANONYMOUS, entityDocument, entityDocuments, FORM_NAMES, type FormRef } from './documents.ts';

const MAX_REFS = 1_000;

/**
 * RPC ReadEntities: one statement for any number.
 *
 * @throws ServiceError `invalid` when there are too many refs
 */
export function readEntities(context: LifecycleContext) {
  return async (
    { refs, omitJson = false }: ReadEntitiesRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadEntitiesResponse> => {
    if (refs.length > MAX_REFS)
      throw new ServiceError('invalid', `Not more than ${MAX_REFS} entities at once.`);
    const requested = refs.map(({ id, form }) => ({ id, form: formOf(form) }));
    const ids = [...new Set(requested.map(({ id }) => id))];
    const { entities, unresolved } = await readResolved(context, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const notFoundError = missing.length === 0 ? undefined : await notFoundErrors(context, missing);
    const now = context.now();

    const outcomes = requested.map(({ id, form }): FormRef | ServiceError => {
      const entity = entities.get(id);
      if (entity === undefined)
        return notFoundError?.(id) ?? new ServiceError('internal', 'Internal server error.');
      const unknownState = unresolved.get(id);
      if (unknownState !== undefined) return unknownState;
      return attempt(() => {
        if (form === 'published') assertAllowedOn(principal, 'read', entity, requirePublished(entity), now);
        else assertAllowedOn(principal, 'read_draft', entity, requireDraft(entity), now);
        return { entity, form };
      });
    });
    const forms = outcomes.filter((outcome): outcome is FormRef => !(outcome instanceof ServiceError));
    const documents = omitJson ? forms.map(documentHead) : await entityDocuments(context, forms, principal);
    const byKey = new Map(
      forms.map(({ entity, form }, at) => [refKey({ id: entity.id, form }), documents[at]]),
    );

    const results = requested.map((ref, at): EntityResult => {
      const message: EntityRefMessage = { id: ref.id, form: FORM_NAMES[ref.form] };
      const outcome = outcomes[at];
      return outcome instanceof ServiceError
        ? { ref: message, error: toErrorDetail(outcome) }
        : { ref: message, document: byKey.get(refKey(ref)) ?? null };
    });
    return { results };
  };
}

function documentHead({ entity, form }: FormRef): EntityDocument {
  const { id, parent } = entity;
  return { id, parentId: parent.id, form: FORM_NAMES[form], revision: String(entity[form]?.revision ?? 0) };
}

/** The form of a message; the default is the published one. */
export function formOf(name: string): Form {
  return name === FORM_NAMES.draft ? 'draft' : 'published';
}

function attempt<Value>(run: () => Value): Value | ServiceError {
  try {
    return run();
  } catch (thrown) {
    return ServiceError.from(thrown);
  }
}

/**
 * RPC ReadLatest.
 *
 * @throws ServiceError - `not_found`: no such entity, or it was never published - `unauthenticated`,
 * `forbidden`: the caller may not read the latest version - `unavailable`: a version is staged and the
 * coordinator cannot be reached
 */
export function readLatest(context: LifecycleContext) {
  return async (
    { id }: ReadLatestRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadLatestResponse> => {
    const named = await getEntity(context, id);
    requirePublished(named);
    const entity = await loadLatest(context.database, named.parent.id, context.kind.related);
    if (entity === undefined) throw notRegistered();
    assertAllowedOn(principal, 'read', entity, requirePublished(entity), context.now());
    return { document: await entityDocument(context, { entity, form: 'published' }, principal) };
  };
}

const RESTRICTED_ACCESS: StoredAccess = { ...OPEN_ACCESS, record: 'restricted', files: 'restricted' };

/**
 * RPC ListVersions: the published versions that the caller may read, newest first.
 *
 * @throws ServiceError - `not_found`: no such entity - `gone`: the named one is removed - `unauthenticated`,
 * `forbidden`: the caller may not read the named one - `unavailable`: a version is staged and the coordinator
 * cannot be reached - `invalid` (`answer_too_large`): the page exceeds the limit of any page
 */
export function listVersions(context: LifecycleContext) {
  return async (
    { id, size, page }: ListVersionsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListVersionsResponse> => {
    const entity = await getEntity(context, id);
    const now = context.now();
    const content = entity.published === null ? requireDraft(entity) : requirePublished(entity);
    assertAllowedOn(principal, 'read', entity, content, now);

    const restricted = { document: { access: RESTRICTED_ACCESS } };
    const { ids, groups } = await loadVersionPage(context.database, entity.parent.id, {
      canReadRestricted: isAllowedOn(principal, 'read', entity, restricted, now),
      now,
      size,
      offset: (Math.max(page, 1) - 1) * size,
    });
    const { entities } = await readResolved(context, ids);
    const forms = ids
      .flatMap((one) => entities.get(one) ?? [])
      .map((one) => ({ entity: one, form: 'published' as const }));
    return {
      documents: await entityDocuments(context, forms, principal),
      total: groups.reduce((total, { count }) => total + count, 0),
      accessStatuses: statusCounts(groups, now),
    };
  };
}

function statusCounts(groups: VersionPage['groups'], now: Date): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { access, entries, count } of groups) {
    const status = accessStatus(access, entries, now);
    counts[status] = (counts[status] ?? 0) + count;
  }
  return counts;
}

/** An entity as anonymous readers see it now. */
export type PublicVersion =
  | { isPublic: true; id: string; parentId: string; document: Readonly<Record<string, unknown>> }
  /** Restricted or removed; `until` is the end of an embargo. */
  | { isPublic: false; until?: Date };

/**
 * The public form of a version, or of the latest public version of a parent.
 *
 * @throws ServiceError
 *   - `not_found`: no such entity
 *   - `unavailable`: a version is staged and the coordinator cannot be reached
 */
export async function readPublic(
  context: LifecycleContext,
  id: string,
  which: 'version' | 'latest',
): Promise<PublicVersion> {
  const entity = await getEntity(context, which === 'version' ? id : await latestId(context, id));
  const { published } = entity;
  if (published === null || published.removal !== undefined) return { isPublic: false };
  if (!isAllowedOn(ANONYMOUS, 'read', entity, published, context.now())) {
    const until = embargoEnd(entity);
    return { isPublic: false, ...(until === undefined ? {} : { until }) };
  }
  const { json } = await entityDocument(context, { entity, form: 'published' }, ANONYMOUS);
  const document = JSON.parse(Buffer.from(json ?? '').toString()) as Record<string, unknown>;
  return { isPublic: true, id: entity.id, parentId: entity.parent.id, document };
}

/** The latest public version, or else the latest one. */
async function latestId({ database, now }: LifecycleContext, parentId: string): Promise<string> {
  const latest = async (canReadRestricted: boolean) =>
    (await loadVersionPage(database, parentId, { canReadRestricted, now: now(), size: 1 })).ids[0];
  const id = (await latest(false)) ?? (await latest(true)) ?? (await loadVersionIds(database, parentId))[0];
  if (id === undefined) throw notRegistered();
  return id;
}

function embargoEnd({ published }: Entity): Date | undefined {
  const { embargo } = published?.document.access ?? {};
  return embargo?.active && embargo.until ? new Date(`${embargo.until.slice(0, 10)}T00:00:00Z`) : undefined;
}
