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
import { accessStatus } from '@kr/metadata';
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
import { may, permit } from '../model/access.ts';
import { type Form, refKey } from '../model/entity.ts';
import { loadLatest, loadVersionHeads, type VersionHead } from '../store/entities.ts';
import { entityDocument, entityDocuments, FORM_NAMES, type FormRef } from './documents.ts';

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
    const asked = refs.map(({ id, form }) => ({ id, form: formOf(form) }));
    const ids = [...new Set(asked.map(({ id }) => id))];
    const { entities, unresolved: unclear } = await readResolved(context, ids);
    const missing = ids.filter((id) => !entities.has(id));
    const why = missing.length === 0 ? undefined : await notFoundErrors(context, missing);
    const now = context.now();

    const outcomes = asked.map(({ id, form }): FormRef | ServiceError => {
      const entity = entities.get(id);
      if (entity === undefined) return why?.(id) ?? new ServiceError('internal', 'Internal server error.');
      const doubt = unclear.get(id);
      if (doubt !== undefined) return doubt;
      return attempt(() => {
        if (form === 'published') permit(principal, 'read', entity, requirePublished(entity), now);
        else permit(principal, 'read_draft', entity, requireDraft(entity), now);
        return { entity, form };
      });
    });
    const shown = outcomes.filter((outcome): outcome is FormRef => !(outcome instanceof ServiceError));
    const documents = omitJson ? shown.map(documentHead) : await entityDocuments(context, shown, principal);
    const byKey = new Map(
      shown.map(({ entity, form }, at) => [refKey({ id: entity.id, form }), documents[at]]),
    );

    const results = asked.map((ref, at): EntityResult => {
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
    permit(principal, 'read', entity, requirePublished(entity), context.now());
    return { document: await entityDocument(context, { entity, form: 'published' }, principal) };
  };
}

/** More versions than this of one entity are not listed. */
const MAX_VERSIONS = 10_000;

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
    permit(principal, 'read', entity, content, now);

    const heads = await loadVersionHeads(context.database, entity.parent.id, MAX_VERSIONS);
    const readable = heads.filter(({ access }) =>
      may(principal, 'read', entity, { document: { access } }, now),
    );
    const offset = (Math.max(page, 1) - 1) * size;
    const ids = readable.slice(offset, offset + size).map((head) => head.id);
    const { entities } = await readResolved(context, ids);
    const shown = ids
      .flatMap((one) => entities.get(one) ?? [])
      .map((one) => ({ entity: one, form: 'published' as const }));
    return {
      documents: await entityDocuments(context, shown, principal),
      total: readable.length,
      accessStatuses: statusCounts(readable, now),
    };
  };
}

function statusCounts(heads: readonly VersionHead[], now: Date): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { access, fileCount } of heads) {
    const status = accessStatus(access, fileCount, now);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
