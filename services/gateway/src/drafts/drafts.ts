import { ServiceError } from '@kr/service-error';
import { PUBLISH_TIMEOUT_FACTOR } from '../config.ts';
import { documentIn, type EntityDeps, entityReply, readEntity, revisionToChange } from '../entities.ts';
import { assertIfNoneMatch } from '../http/conditional.ts';
import { type Call, json, noContent, param } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';

export function draftRoutes(deps: EntityDeps): Operation[] {
  const { kind, clients } = deps;
  const lifecycle = clients.lifecycle[kind];
  const { title, noun } = KIND_NAMES[kind];
  const collectionPath = `/api/${COLLECTION[kind]}`;
  const draftPath = `${collectionPath}/:id/draft`;
  const isPackage = kind === 'package';
  return [
    {
      method: 'POST',
      path: collectionPath,
      body: 'json',
      produces: 'entity',
      changes: ['index'],
      operationId: `create${title}Draft`,
      summary: `Creates a draft of a new ${noun}. Invalid values are stored and listed under \`errors\`.`,
      requestBody: 'Draft',
      responses: { 201: 'Entity201' },
      errors: [400],
      handler: async (call) => {
        const { document } = await lifecycle.createDraft(
          { body: call.rawBody, creationKey: call.creationKey },
          call.principal,
        );
        const reply = entityReply(201, document, deps, call);
        // The REST document always shows `expanded` in the answer to a package's creation.
        if (isPackage) reply.body = { ...(reply.body as object), expanded: {} };
        return reply;
      },
    },
    {
      method: 'GET',
      path: draftPath,
      produces: 'entity',
      operationId: `read${title}Draft`,
      summary: 'The draft.',
      responses: { 200: 'Draft200' },
      errors: [403, 404],
      handler: async (call) =>
        entityReply(200, await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call), deps, call),
    },
    {
      method: 'PUT',
      path: draftPath,
      body: 'json',
      produces: 'entity',
      changes: ['index'],
      operationId: `update${title}Draft`,
      summary: "Replaces the draft's content.",
      parameters: ['IfMatch', 'IfNoneMatch'],
      requestBody: 'Draft',
      responses: { 200: 'Draft200' },
      errors: [400, 403, 404, 409],
      handler: async (call) => {
        const { document } = await lifecycle.updateDraft(
          { ...(await draftToChange(deps, call)), body: call.rawBody },
          call.principal,
        );
        return entityReply(200, document, deps, call);
      },
    },
    {
      method: 'POST',
      path: draftPath,
      produces: 'entity',
      changes: ['index'],
      operationId: `edit${title}`,
      summary: 'Opens a draft of the published form, or answers with the open one.',
      parameters: ['IfMatch'],
      responses: { 201: 'Entity201' },
      errors: [403, 404],
      handler: async (call) => {
        const id = param(call, 'id');
        const ifRevision = await revisionToChange(deps, id, 'FORM_PUBLISHED', call);
        const { document } = await lifecycle.editPublished({ id, ifRevision }, call.principal);
        return entityReply(201, document, deps, call);
      },
    },
    {
      method: 'DELETE',
      path: draftPath,
      produces: 'entity',
      changes: ['index'],
      operationId: `delete${title}Draft`,
      summary: `Discards the draft; a ${noun} that was never published is gone with it.`,
      parameters: ['IfMatch', 'IfNoneMatch'],
      responses: { 204: 'Done' },
      errors: [403, 404, 409],
      handler: async (call) => {
        await lifecycle.deleteDraft(await draftToChange(deps, call), call.principal);
        return noContent();
      },
    },
    {
      method: 'POST',
      path: `${draftPath}/actions/publish`,
      produces: 'entity',
      cost: 'publish',
      changes: ['published', 'index'],
      operationId: `publish${title}`,
      summary: isPackage
        ? 'Publishes the draft and the resource drafts of this version atomically.'
        : 'Publishes the draft.',
      parameters: ['IfMatch'],
      responses: { 202: 'Entity202' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const { id, ifRevision } = await draftToChange(deps, call);
        const request = { subject: SUBJECT[kind], id, ifRevision };
        const options = { timeoutFactor: PUBLISH_TIMEOUT_FACTOR };
        const { published } = await clients.publications.publish(request, call.principal, options);
        const document = published
          ? documentIn(published)
          : await readEntity(deps, id, 'FORM_PUBLISHED', call);
        return entityReply(202, document, deps, call);
      },
    },
    {
      method: 'POST',
      path: `${draftPath}/actions/validate`,
      changes: [],
      operationId: `validate${title}`,
      summary: isPackage
        ? 'All problems of the package and its resources that would prevent a publication; changes nothing.'
        : 'All problems that would prevent a publication of the resource; changes nothing.',
      responses: { 200: 'Validation' },
      errors: [403, 404],
      handler: async (call) => {
        const { problems } = await clients.publications.validate(
          { subject: SUBJECT[kind], id: param(call, 'id') },
          call.principal,
          { timeoutFactor: VALIDATE_TIMEOUT_FACTOR },
        );
        return json(200, {
          errors: problems.map(({ id, issues }) => ({
            record: id,
            message: "The record can't be published",
            errors: issues.map(({ field, messages }) => ({ field, messages })),
          })),
        });
      },
    },
    {
      method: 'GET',
      path: `${draftPath}/review`,
      operationId: `read${title}Review`,
      summary: 'The review of the draft; always an empty one.',
      responses: {},
      errors: [403, 404],
      handler: async (call) => {
        // Drafts are published by their editors alone, so there is never one.
        await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call);
        throw new ServiceError('not_found', 'Review for draft not found');
      },
    },
    {
      method: 'POST',
      path: `${draftPath}/pids/:scheme`,
      produces: 'entity',
      changes: ['index'],
      operationId: `reserve${title}Pid`,
      summary: 'Reserves a persistent identifier.',
      parameters: ['IfMatch', 'IfNoneMatch'],
      responses: { 201: 'Entity201' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const { document } = await lifecycle.reservePid(
          { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
          call.principal,
        );
        return entityReply(201, document, deps, call);
      },
    },
    {
      method: 'DELETE',
      path: `${draftPath}/pids/:scheme`,
      produces: 'entity',
      changes: ['index'],
      operationId: `discard${title}Pid`,
      summary: 'Releases a reserved identifier.',
      parameters: ['IfMatch', 'IfNoneMatch'],
      responses: { 200: 'Draft200' },
      errors: [400, 403, 404, 409],
      handler: async (call) => {
        const { document } = await lifecycle.discardPid(
          { ...(await draftToChange(deps, call)), scheme: param(call, 'scheme') },
          call.principal,
        );
        return entityReply(200, document, deps, call);
      },
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
  assertIfNoneMatch(ifNoneMatch, revision);
  return { id, ifRevision: ifRevision === '0' ? revision : ifRevision };
}

const SUBJECT = { record: 'SUBJECT_RECORD', package: 'SUBJECT_PACKAGE' } as const;

/** A package may have many resources. */
const VALIDATE_TIMEOUT_FACTOR = 6;
