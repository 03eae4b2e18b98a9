import type { FileEntry__Output, NewEntry } from '@kr/contracts';
import type { Issue } from '@kr/service-error';
import { type Call, created, json, noContent, param, type Reply } from '../http/endpoint.ts';
import { assertValid, invalid } from '../http/invalid.ts';
import { isObject, objectBody } from '../http/json-object.ts';
import type { Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import type { Json } from '../rendering/entity-json.ts';
import { fileJson, fileListJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, authoriseFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** Lists and descriptions of files, of drafts and of published entities. */
export function fileRoutes(ofDraft: FilesDeps, ofPublished: FilesDeps): Route[] {
  const tag = COLLECTION[ofDraft.kind];
  const { title } = KIND_NAMES[ofDraft.kind];
  const draft = `/api/${tag}/:id/draft`;
  const draftFiles = `${draft}/files`;
  const files = `/api/${tag}/:id/files`;
  return [
    {
      method: 'POST',
      path: `${draft}/actions/files-import`,
      auth: 'token',
      produces: 'json',
      changes: ['files'],
      operationId: `import${title}Files`,
      openapi: {
        tag,
        summary: 'Gives the draft the files of the previous version.',
        parameters: ['Id'],
        responses: { 201: 'FileListing201' },
        errors: [400, 403, 404],
      },
      handler: (call) => importFiles(ofDraft, call),
    },
    {
      method: 'GET',
      path: draftFiles,
      auth: 'token',
      produces: 'json',
      operationId: `list${title}DraftFiles`,
      openapi: {
        tag,
        summary: 'The files of the draft.',
        parameters: ['Id'],
        responses: { 200: 'FileListing' },
        errors: [403, 404],
      },
      handler: (call) => listFiles(ofDraft, call),
    },
    {
      method: 'POST',
      path: draftFiles,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['files'],
      operationId: `start${title}Uploads`,
      openapi: {
        tag,
        summary: 'Adds pending files.',
        parameters: ['Id'],
        requestBody: 'NewFiles',
        responses: { 201: 'FileListing201' },
        errors: [400, 403, 404],
      },
      handler: (call) => startUploads(ofDraft, call),
    },
    {
      method: 'DELETE',
      path: draftFiles,
      auth: 'token',
      produces: 'json',
      changes: ['files'],
      operationId: `delete${title}DraftFiles`,
      openapi: {
        tag,
        summary: 'Removes all files of the draft.',
        parameters: ['Id'],
        responses: { 204: 'Done' },
        errors: [403, 404, 409],
      },
      handler: (call) => deleteFiles(ofDraft, call),
    },
    {
      method: 'GET',
      path: `${draftFiles}/:key`,
      auth: 'token',
      produces: 'json',
      operationId: `read${title}DraftFile`,
      openapi: {
        tag,
        summary: 'One file of the draft.',
        parameters: ['Id', 'Key'],
        responses: { 200: 'File' },
        errors: [403, 404],
      },
      handler: (call) => readFile(ofDraft, call),
    },
    {
      method: 'PUT',
      path: `${draftFiles}/:key`,
      auth: 'token',
      body: 'json',
      produces: 'json',
      changes: ['files'],
      operationId: `update${title}FileMetadata`,
      openapi: {
        tag,
        summary: 'Replaces the free-form metadata of a file by the body.',
        parameters: ['Id', 'Key'],
        requestBody: 'Free',
        responses: { 200: 'File' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => updateFileMetadata(ofDraft, call),
    },
    {
      method: 'DELETE',
      path: `${draftFiles}/:key`,
      auth: 'token',
      produces: 'json',
      changes: ['files'],
      operationId: `delete${title}DraftFile`,
      openapi: {
        tag,
        summary: 'Removes a file of the draft.',
        parameters: ['Id', 'Key'],
        responses: { 204: 'Done' },
        errors: [403, 404, 409],
      },
      handler: (call) => deleteFile(ofDraft, call),
    },
    {
      method: 'POST',
      path: `${draftFiles}/:key/commit`,
      auth: 'token',
      produces: 'json',
      changes: ['files'],
      operationId: `commit${title}Upload`,
      openapi: {
        tag,
        summary: 'Completes an upload.',
        parameters: ['Id', 'Key'],
        responses: { 200: 'File' },
        errors: [400, 403, 404],
      },
      handler: (call) => commitUpload(ofDraft, call),
    },
    {
      method: 'GET',
      path: files,
      auth: 'open',
      produces: 'json',
      operationId: `list${title}Files`,
      openapi: {
        tag,
        summary: 'The published files.',
        parameters: ['Id'],
        responses: { 200: 'FileListing' },
        errors: [403, 404],
      },
      handler: (call) => listFiles(ofPublished, call),
    },
    {
      method: 'GET',
      path: `${files}/:key`,
      auth: 'open',
      produces: 'json',
      operationId: `read${title}File`,
      openapi: {
        tag,
        summary: 'One published file.',
        parameters: ['Id', 'Key'],
        responses: { 200: 'File' },
        errors: [403, 404],
      },
      handler: (call) => readFile(ofPublished, call),
    },
  ];
}

/** The document of the one file that a call was about. */
function fileReply(entry: FileEntry__Output | null, deps: FilesDeps, call: Call): Json {
  if (entry === null) throw new Error('the files service answered without the entry it promised');
  return fileJson(entry, fileHolder(deps, call));
}

async function listFiles(deps: FilesDeps, call: Call): Promise<Reply> {
  const authorised = await authoriseFiles(deps, 'read', call);
  const { ticket, filesEnabled } = authorised;
  const { entries } = filesEnabled
    ? await deps.clients.files.listEntries({ ticket }, call.principal, { signal: call.signal })
    : { entries: [] };
  return json(200, fileListJson(authorised, entries, fileHolder(deps, call)));
}

async function readFile(deps: FilesDeps, call: Call): Promise<Reply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
  const key = param(call, 'key');
  const { entry } = await deps.clients.files.readEntry({ ticket, key }, call.principal, {
    signal: call.signal,
  });
  return json(200, fileReply(entry, deps, call));
}

async function startUploads(deps: FilesDeps, call: Call): Promise<Reply> {
  const authorised = await authoriseEnabledFiles(deps, 'write', call);
  const { entries } = await deps.clients.files.startUploads(
    { ticket: authorised.ticket, entries: newEntries(call.body), creationKey: call.creationKey },
    call.principal,
  );
  return created(fileListJson(authorised, entries, fileHolder(deps, call)));
}

/** @throws ServiceError `invalid`: not a list of objects with a key each */
function newEntries(body: unknown): NewEntry[] {
  if (body === undefined || body === null) return [];
  if (!Array.isArray(body)) throw invalid('_schema', 'Invalid input type.');
  const issues: Issue[] = [];
  const entries = body.map((item: unknown, index): NewEntry => {
    if (!isObject(item)) {
      issues.push({ field: `${index}._schema`, messages: ['Invalid input type.'] });
      return {};
    }
    const { key, ...rest } = item;
    if (typeof key !== 'string') {
      issues.push({ field: `${index}.key`, messages: [keyMessage(key)] });
      return {};
    }
    const hasMore = Object.keys(rest).length > 0;
    return { key, metadataJson: hasMore ? Buffer.from(JSON.stringify(rest)) : Buffer.alloc(0) };
  });
  assertValid(issues);
  return entries;
}

function keyMessage(key: unknown): string {
  if (key === undefined) return 'Missing data for required field.';
  return key === null ? 'Field may not be null.' : 'Not a valid string.';
}

async function commitUpload(deps: FilesDeps, call: Call): Promise<Reply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
  const { entry } = await deps.clients.files.commitUpload(
    { ticket, key: param(call, 'key') },
    call.principal,
  );
  return json(200, fileReply(entry, deps, call));
}

async function updateFileMetadata(deps: FilesDeps, call: Call): Promise<Reply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
  const { entry } = await deps.clients.files.updateEntryMetadata(
    { ticket, key: param(call, 'key'), metadataJson: objectBody(call.body ?? {}) },
    call.principal,
  );
  return json(200, fileReply(entry, deps, call));
}

/** Deletes files of a draft. A preview that goes with them has left the draft when this is answered. */
async function deleteEntries(
  deps: FilesDeps,
  call: Call,
  which: { keys: string[] } | { all: true },
): Promise<void> {
  const { kind, clients } = deps;
  const { ticket, defaultPreview } = await authoriseEnabledFiles(deps, 'write', call);
  const deleted = await clients.files.deleteEntries({ ticket, ...which }, call.principal);
  if (!deleted.keys.includes(defaultPreview)) return;
  const gone = { id: param(call, 'id'), keys: [defaultPreview] };
  // The files are deleted even if this fails, and the event of the deletion has the same effect.
  await clients.lifecycle[kind].clearPreview(gone, call.principal).catch(() => undefined);
}

async function deleteFile(deps: FilesDeps, call: Call): Promise<Reply> {
  await deleteEntries(deps, call, { keys: [param(call, 'key')] });
  return noContent();
}

async function deleteFiles(deps: FilesDeps, call: Call): Promise<Reply> {
  await deleteEntries(deps, call, { all: true });
  return noContent();
}

async function importFiles(deps: FilesDeps, call: Call): Promise<Reply> {
  const authorised = await authoriseEnabledFiles(deps, 'import', call);
  const { entries } = await deps.clients.files.importEntries(
    { ticket: authorised.ticket, creationKey: call.creationKey },
    call.principal,
  );
  return created(fileListJson(authorised, entries, fileHolder(deps, call)));
}
