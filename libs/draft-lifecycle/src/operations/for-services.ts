import { servicePrincipal } from '@kr/caller';
import {
  type AwaitEventsSentRequest__Output,
  type AwaitEventsSentResponse,
  type FetchForIndexRequest__Output,
  type FetchForIndexResponse,
  type FindDoisRequest__Output,
  type FindDoisResponse,
  type FindIdsRequest__Output,
  type FindIdsResponse,
  type IndexDocument,
  type ListIdsRequest__Output,
  type ListIdsResponse,
  type RemovedForm,
  timestamp,
} from '@kr/contracts';
import { effectiveAccess } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { findEntities, type LifecycleContext, type LifecycleDeps } from '../context/context.ts';
import { assertService } from '../model/access.ts';
import type { Entity, Form } from '../model/entity.ts';
import { findDoiOwners } from '../store/dois.ts';
import { listVersionIds } from '../store/entities.ts';
import { FORM_NAMES, type RenderedForm, renderForms } from './documents.ts';

const MAX_IDS = 1_000;
const FORMS: readonly Form[] = ['published', 'draft'];

/**
 * RPC FetchForIndex: both forms of each entity, as its owner would see them; removed ones are only named.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `invalid`: too many ids - `unavailable`: one
 * is staged and the coordinator cannot be reached, or the files service does not answer
 */
export function fetchForIndex(context: LifecycleContext) {
  return async (
    { ids }: FetchForIndexRequest__Output,
    { principal }: CallContext,
  ): Promise<FetchForIndexResponse> => {
    assertService(principal);
    if (ids.length > MAX_IDS) throw new ServiceError('invalid', `Not more than ${MAX_IDS} entities at once.`);
    const entities = await findEntities(context, [...new Set(ids)]);
    const forms = [...entities.values()].flatMap((entity) =>
      FORMS.filter((form) => isIndexed(entity, form)).map((form) => ({ entity, form })),
    );
    const everything = servicePrincipal('index', principal.requestId);
    // Problems are not searched.
    const rendered = await renderForms(context, forms, everything, { issues: [] });
    const now = context.now();
    return {
      documents: rendered.map((form) => indexDocument(form, now)),
      removed: [...entities.values()].flatMap(removedForm),
    };
  };
}

function removedForm({ id, parent, published }: Entity): RemovedForm[] {
  return published?.removal === undefined
    ? []
    : [{ id, parentId: parent.id, revision: String(published.revision) }];
}

function isIndexed(entity: Entity, form: Form): boolean {
  return form === 'draft'
    ? entity.draft !== null
    : entity.published !== null && entity.published.removal === undefined;
}

function indexDocument({ entity, form, content, json }: RenderedForm, now: Date): IndexDocument {
  return {
    id: entity.id,
    parentId: entity.parent.id,
    form: FORM_NAMES[form],
    revision: String(content.revision),
    json,
    ownerId: entity.parent.ownerId,
    recordAccess: effectiveAccess(content.document.access, now).record,
    versionIndex: entity.versionIndex,
    createdAt: timestamp(content.createdAt),
    updatedAt: timestamp(content.updatedAt),
  };
}

/**
 * RPC FindIds: the ids that belong to this service. @throws ServiceError `forbidden`: the caller is no
 * service
 */
export function findIds({ database }: LifecycleContext) {
  return async ({ ids }: FindIdsRequest__Output, { principal }: CallContext): Promise<FindIdsResponse> => {
    assertService(principal);
    const rows = await database.$queryRawUnsafe<{ id: string; is_purged: boolean }[]>(
      `select id, purged_at is not null as is_purged from version where id = any($1::text[])
       union select id, false from parent where id = any($1::text[])`,
      ids,
    );
    return {
      ids: rows.map(({ id }) => id),
      purgedIds: rows.flatMap(({ id, is_purged }) => (is_purged ? id : [])),
    };
  };
}

/** RPC ListIds: in id order, after a position. @throws ServiceError `forbidden`: the caller is no service */
export function listIds({ database }: LifecycleContext) {
  return async (
    { afterId, limit }: ListIdsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListIdsResponse> => {
    assertService(principal);
    return { ids: await listVersionIds(database, afterId, Math.min(limit > 0 ? limit : MAX_IDS, MAX_IDS)) };
  };
}

/** RPC FindDois: the DOIs of published entities of this kind. @throws ServiceError `forbidden`: the caller is no service */
export function findDois({ database }: LifecycleContext) {
  return async ({ dois }: FindDoisRequest__Output, { principal }: CallContext): Promise<FindDoisResponse> => {
    assertService(principal);
    const owners = await findDoiOwners(database, dois);
    return { dois: [...new Set(owners.map(({ doi }) => doi))] };
  };
}

/** The answer must arrive before the caller's deadline. */
const ANSWER_MS = 50;
const MAX_WAIT_MS = 10_000;

/** RPC AwaitEventsSent. @throws ServiceError `forbidden` when the caller is no service */
export function awaitEventsSent({ waitUntilRelayed, now }: Pick<LifecycleDeps, 'waitUntilRelayed' | 'now'>) {
  return async (
    _request: AwaitEventsSentRequest__Output,
    { principal, deadline, signal }: CallContext,
  ): Promise<AwaitEventsSentResponse> => {
    assertService(principal);
    const timeoutMs = Math.min(MAX_WAIT_MS, deadline.getTime() - now().getTime() - ANSWER_MS);
    return { areSent: await waitUntilRelayed({ timeoutMs, signal }) };
  };
}
