import { ServiceError } from '@kr/service-error';
import { PUBLISH_TIMEOUT_FACTOR } from '../config.ts';
import { documentIn, type EntityDeps, entityReply, readEntity, revisionToChange } from '../entity-deps.ts';
import { assertUnnamed } from '../http/conditional.ts';
import { type Call, type Endpoint, json, noContent, param } from '../http/endpoint.ts';

/**
 * The draft that a request will change, with the revision of its preconditions (0: any).
 * @throws ServiceError `invalid`: If-Match is no revision; `precondition_failed`: it names other revisions, or If-None-Match names the
 * draft's; or the errors of reading the draft
 */
async function draftToChange(deps: EntityDeps, call: Call): Promise<{ id: string; ifRevision: string }> {
  const id = param(call, 'id');
  const ifRevision = await revisionToChange(deps, id, 'FORM_DRAFT', call);
  const ifNoneMatch = call.headers['if-none-match'];
  if (ifNoneMatch === undefined) return { id, ifRevision };
  const { revision } = await readEntity(deps, id, 'FORM_DRAFT', call);
  assertUnnamed(ifNoneMatch, revision);
  return { id, ifRevision: ifRevision === '0' ? revision : ifRevision };
}

/** POST /api/{kind}: 201 with the new draft; what is wrong with it is listed under `errors`. */
export function createDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].createDraft(
      { body: call.rawBody, creationKey: call.creationKey },
      call.principal,
    );
    const reply = entityReply(201, document, deps, call);
    // The REST document always shows `expanded` in the answer to a package's creation.
    if (deps.kind === 'package') reply.body = { ...(reply.body as object), expanded: {} };
    return reply;
  };
}

/** GET /api/{kind}/{id}/draft */
export function readDraft(deps: EntityDeps): Endpoint {
  return async (call) =>
    entityReply(200, await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call), deps, call);
}

/** GET /api/{kind}/{id}/draft/review: drafts are published by their editors alone, so there is never one. */
export function readReview(deps: EntityDeps): Endpoint {
  return async (call) => {
    await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call);
    throw new ServiceError('not_found', 'Review for draft not found');
  };
}

/** PUT /api/{kind}/{id}/draft: replaces the draft's content; If-Match and If-None-Match are honoured. */
export function updateDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].updateDraft(
      { ...(await draftToChange(deps, call)), body: call.rawBody },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}

/** DELETE /api/{kind}/{id}/draft: discards the draft; If-Match and If-None-Match are honoured. */
export function deleteDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    await deps.clients.lifecycle[deps.kind].deleteDraft(await draftToChange(deps, call), call.principal);
    return noContent();
  };
}

/** POST /api/{kind}/{id}/draft: 201 with the draft of a published entity, the open one if there is one. */
export function editPublished(deps: EntityDeps): Endpoint {
  return async (call) => {
    const id = param(call, 'id');
    const ifRevision = await revisionToChange(deps, id, 'FORM_PUBLISHED', call);
    const { document } = await deps.clients.lifecycle[deps.kind].editPublished(
      { id, ifRevision },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}

const SUBJECT = { record: 'SUBJECT_RECORD', package: 'SUBJECT_PACKAGE' } as const;

/**
 * POST /api/{kind}/{id}/draft/actions/publish: 202 with the published entity. A package takes its resource drafts
 * along: all or nothing.
 */
export function publishDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { id, ifRevision } = await draftToChange(deps, call);
    const wish = { subject: SUBJECT[deps.kind], id, ifRevision };
    const options = { times: PUBLISH_TIMEOUT_FACTOR };
    const { published } = await deps.clients.publications.publish(wish, call.principal, options);
    const document = published ? documentIn(published) : await readEntity(deps, id, 'FORM_PUBLISHED', call);
    return entityReply(202, document, deps, call);
  };
}

/** A package may bring many resources along. */
const TIMES = 6;

/**
 * POST /api/{kind}/{id}/draft/actions/validate: 200 with the problems that a publication would report, by
 * entity; nothing changes.
 */
export function validateDraft({ kind, clients }: EntityDeps): Endpoint {
  return async (call) => {
    const { problems } = await clients.publications.validate(
      { subject: SUBJECT[kind], id: param(call, 'id') },
      call.principal,
      { times: TIMES },
    );
    return json(200, {
      errors: problems.map(({ id, issues }) => ({
        record: id,
        message: "The record can't be published",
        errors: issues.map(({ field, messages }) => ({ field, messages })),
      })),
    });
  };
}

/** POST /api/{kind}/{id}/draft/pids/{scheme}: 201 with the draft that now has an identifier of this scheme. */
export function reservePid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].reservePid(
      { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
      call.principal,
    );
    return entityReply(201, document, deps, call);
  };
}

/** DELETE /api/{kind}/{id}/draft/pids/{scheme}: 200 with the draft that no longer has that identifier. */
export function discardPid(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { document } = await deps.clients.lifecycle[deps.kind].discardPid(
      { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
      call.principal,
    );
    return entityReply(200, document, deps, call);
  };
}
