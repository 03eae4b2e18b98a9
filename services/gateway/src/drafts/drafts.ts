import { ServiceError } from '@kr/service-error';
import { PUBLISH_TIMEOUT_FACTOR } from '../config.ts';
import { documentIn, type EntityDeps, entityReply, readEntity, revisionToChange } from '../entity-deps.ts';
import { assertUnnamed } from '../http/conditional.ts';
import { type Call, json, noContent, param, type Reply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';

export function draftRoutes(deps: EntityDeps): Route[] {
  const tag = COLLECTION[deps.kind];
  const { title, noun } = KIND_NAMES[deps.kind];
  const all = `/api/${tag}`;
  const draft = `${all}/:id/draft`;
  const isPackage = deps.kind === 'package';
  return [
    {
      method: 'POST',
      path: all,
      auth: 'token',
      body: 'json',
      produces: 'entity',
      changes: ['index'],
      operationId: `create${title}Draft`,
      openapi: {
        tag,
        summary: `Creates a draft of a new ${noun}. Invalid values are stored and listed under \`errors\`.`,
        requestBody: 'Draft',
        responses: { 201: 'Entity201' },
        errors: [400],
      },
      handler: (call) => createDraft(deps, call),
    },
    {
      method: 'GET',
      path: draft,
      auth: 'token',
      produces: 'entity',
      operationId: `read${title}Draft`,
      openapi: {
        tag,
        summary: 'The draft.',
        parameters: ['Id'],
        responses: { 200: 'Draft200' },
        errors: [403, 404],
      },
      handler: (call) => readDraft(deps, call),
    },
    {
      method: 'PUT',
      path: draft,
      auth: 'token',
      body: 'json',
      produces: 'entity',
      changes: ['index'],
      operationId: `update${title}Draft`,
      openapi: {
        tag,
        summary: "Replaces the draft's content.",
        parameters: ['Id', 'IfMatch', 'IfNoneMatch'],
        requestBody: 'Draft',
        responses: { 200: 'Draft200' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => updateDraft(deps, call),
    },
    {
      method: 'POST',
      path: draft,
      auth: 'token',
      produces: 'entity',
      changes: ['index'],
      operationId: `edit${title}`,
      openapi: {
        tag,
        summary: 'Opens a draft of the published form, or answers with the open one.',
        parameters: ['Id', 'IfMatch'],
        responses: { 201: 'Entity201' },
        errors: [403, 404],
      },
      handler: (call) => editPublished(deps, call),
    },
    {
      method: 'DELETE',
      path: draft,
      auth: 'token',
      produces: 'entity',
      changes: ['index'],
      operationId: `delete${title}Draft`,
      openapi: {
        tag,
        summary: `Discards the draft; a ${noun} that was never published is gone with it.`,
        parameters: ['Id', 'IfMatch', 'IfNoneMatch'],
        responses: { 204: 'Done' },
        errors: [403, 404, 409],
      },
      handler: (call) => deleteDraft(deps, call),
    },
    {
      method: 'POST',
      path: `${draft}/actions/publish`,
      auth: 'token',
      produces: 'entity',
      cost: 'publish',
      changes: ['published', 'index'],
      operationId: `publish${title}`,
      openapi: {
        tag,
        summary: isPackage
          ? 'Publishes the draft together with the resource drafts of this version: all or nothing.'
          : 'Publishes the draft.',
        parameters: ['Id', 'IfMatch'],
        responses: { 202: 'Entity202' },
        errors: [400, 403, 404],
      },
      handler: (call) => publishDraft(deps, call),
    },
    {
      method: 'POST',
      path: `${draft}/actions/validate`,
      auth: 'token',
      produces: 'json',
      changes: [],
      operationId: `validate${title}`,
      openapi: {
        tag,
        summary: isPackage
          ? 'All problems of the package and its resources that would prevent a publication; changes nothing.'
          : 'All problems that would prevent a publication of the resource; changes nothing.',
        parameters: ['Id'],
        responses: { 200: 'Validation' },
        errors: [403, 404],
      },
      handler: (call) => validateDraft(deps, call),
    },
    {
      method: 'GET',
      path: `${draft}/review`,
      auth: 'token',
      produces: 'json',
      operationId: `read${title}Review`,
      openapi: {
        tag,
        summary: 'The review of the draft; always an empty one.',
        parameters: ['Id'],
        responses: {},
        errors: [403, 404],
      },
      handler: (call) => readReview(deps, call),
    },
    {
      method: 'POST',
      path: `${draft}/pids/:scheme`,
      auth: 'token',
      produces: 'entity',
      changes: ['index'],
      operationId: `reserve${title}Pid`,
      openapi: {
        tag,
        summary: 'Reserves a persistent identifier.',
        parameters: ['Id', 'Scheme', 'IfMatch', 'IfNoneMatch'],
        responses: { 201: 'Entity201' },
        errors: [400, 403, 404],
      },
      handler: (call) => reservePid(deps, call),
    },
    {
      method: 'DELETE',
      path: `${draft}/pids/:scheme`,
      auth: 'token',
      produces: 'entity',
      changes: ['index'],
      operationId: `discard${title}Pid`,
      openapi: {
        tag,
        summary: 'Gives a reserved identifier back.',
        parameters: ['Id', 'Scheme', 'IfMatch', 'IfNoneMatch'],
        responses: { 200: 'Draft200' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => discardPid(deps, call),
    },
  ];
}

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

async function createDraft(deps: EntityDeps, call: Call): Promise<Reply> {
  const { document } = await deps.clients.lifecycle[deps.kind].createDraft(
    { body: call.rawBody, creationKey: call.creationKey },
    call.principal,
  );
  const reply = entityReply(201, document, deps, call);
  // The REST document always shows `expanded` in the answer to a package's creation.
  if (deps.kind === 'package') reply.body = { ...(reply.body as object), expanded: {} };
  return reply;
}

async function readDraft(deps: EntityDeps, call: Call): Promise<Reply> {
  return entityReply(200, await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call), deps, call);
}

/** Drafts are published by their editors alone, so there is never one. */
async function readReview(deps: EntityDeps, call: Call): Promise<Reply> {
  await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call);
  throw new ServiceError('not_found', 'Review for draft not found');
}

async function updateDraft(deps: EntityDeps, call: Call): Promise<Reply> {
  const { document } = await deps.clients.lifecycle[deps.kind].updateDraft(
    { ...(await draftToChange(deps, call)), body: call.rawBody },
    call.principal,
  );
  return entityReply(200, document, deps, call);
}

async function deleteDraft(deps: EntityDeps, call: Call): Promise<Reply> {
  await deps.clients.lifecycle[deps.kind].deleteDraft(await draftToChange(deps, call), call.principal);
  return noContent();
}

async function editPublished(deps: EntityDeps, call: Call): Promise<Reply> {
  const id = param(call, 'id');
  const ifRevision = await revisionToChange(deps, id, 'FORM_PUBLISHED', call);
  const { document } = await deps.clients.lifecycle[deps.kind].editPublished(
    { id, ifRevision },
    call.principal,
  );
  return entityReply(201, document, deps, call);
}

const SUBJECT = { record: 'SUBJECT_RECORD', package: 'SUBJECT_PACKAGE' } as const;

async function publishDraft(deps: EntityDeps, call: Call): Promise<Reply> {
  const { id, ifRevision } = await draftToChange(deps, call);
  const request = { subject: SUBJECT[deps.kind], id, ifRevision };
  const options = { times: PUBLISH_TIMEOUT_FACTOR };
  const { published } = await deps.clients.publications.publish(request, call.principal, options);
  const document = published ? documentIn(published) : await readEntity(deps, id, 'FORM_PUBLISHED', call);
  return entityReply(202, document, deps, call);
}

/** A package may bring many resources along. */
const TIMES = 6;

async function validateDraft({ kind, clients }: EntityDeps, call: Call): Promise<Reply> {
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
}

async function reservePid(deps: EntityDeps, call: Call): Promise<Reply> {
  const { document } = await deps.clients.lifecycle[deps.kind].reservePid(
    { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
    call.principal,
  );
  return entityReply(201, document, deps, call);
}

async function discardPid(deps: EntityDeps, call: Call): Promise<Reply> {
  const { document } = await deps.clients.lifecycle[deps.kind].discardPid(
    { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
    call.principal,
  );
  return entityReply(200, document, deps, call);
}
