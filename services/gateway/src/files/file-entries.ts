import type { NewEntry } from '@kr/contracts';
import type { Issue } from '@kr/service-error';
import { present } from '../entities.ts';
import { isObject } from '../http/body.ts';
import { type Call, created, json, noContent, param } from '../http/endpoint.ts';
import { assertValid, invalid } from '../http/invalid.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { fileJson, fileListJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, authoriseFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** Lists and descriptions of files, of drafts and of published entities. */
export function fileRoutes(ofDraft: FilesDeps, ofPublished: FilesDeps): Operation[] {
  const { kind, clients } = ofDraft;
  const { files } = clients;
  const { title } = KIND_NAMES[kind];
  const draft = `/api/${COLLECTION[kind]}/:id/draft`;
  const draftFiles = `${draft}/files`;
  return [
    ...readRoutes(ofDraft),
    ...readRoutes(ofPublished),
    {
      method: 'POST',
      path: `${draft}/actions/files-import`,
      changes: ['files'],
      operationId: `import${title}Files`,
      summary: 'Imports the files of the previous version into the draft.',
      responses: { 201: 'FileListing201' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const authorised = await authoriseEnabledFiles(ofDraft, 'import', call);
        const { entries } = await files.importEntries(
          { ticket: authorised.ticket, creationKey: call.creationKey },
          call.principal,
        );
        return created(fileListJson(authorised, entries, fileHolder(ofDraft, call)));
      },
    },
    {
      method: 'POST',
      path: draftFiles,
      body: 'json',
      changes: ['files'],
      operationId: `start${title}Uploads`,
      summary: 'Adds pending files.',
      requestBody: 'NewFiles',
      responses: { 201: 'FileListing201' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const authorised = await authoriseEnabledFiles(ofDraft, 'write', call);
        const { entries } = await files.startUploads(
          { ticket: authorised.ticket, entries: newEntries(call.body), creationKey: call.creationKey },
          call.principal,
        );
        return created(fileListJson(authorised, entries, fileHolder(ofDraft, call)));
      },
    },
    {
      method: 'DELETE',
      path: draftFiles,
      changes: ['files'],
      operationId: `delete${title}DraftFiles`,
      summary: 'Removes all files of the draft.',
      responses: { 204: 'Done' },
      errors: [403, 404, 409],
      handler: async (call) => {
        await deleteEntries(ofDraft, call, { all: true });
        return noContent();
      },
    },
    {
      method: 'PUT',
      path: `${draftFiles}/:key`,
      body: 'json',
      changes: ['files'],
      operationId: `update${title}FileMetadata`,
      summary: 'Replaces the free-form metadata of a file by the body.',
      requestBody: 'Free',
      responses: { 200: 'File' },
      errors: [400, 403, 404, 409],
      handler: async (call) => {
        const { ticket } = await authoriseEnabledFiles(ofDraft, 'write', call);
        const { entry } = await files.updateEntryMetadata(
          { ticket, key: param(call, 'key'), metadataJson: metadataJson(call.body ?? {}) },
          call.principal,
        );
        return json(200, fileJson(present(entry), fileHolder(ofDraft, call)));
      },
    },
    {
      method: 'DELETE',
      path: `${draftFiles}/:key`,
      changes: ['files'],
      operationId: `delete${title}DraftFile`,
      summary: 'Removes a file of the draft.',
      responses: { 204: 'Done' },
      errors: [403, 404, 409],
      handler: async (call) => {
        await deleteEntries(ofDraft, call, { keys: [param(call, 'key')] });
        return noContent();
      },
    },
    {
      method: 'POST',
      path: `${draftFiles}/:key/commit`,
      changes: ['files'],
      operationId: `commit${title}Upload`,
      summary: 'Completes an upload.',
      responses: { 200: 'File' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const { ticket } = await authoriseEnabledFiles(ofDraft, 'write', call);
        const { entry } = await files.commitUpload({ ticket, key: param(call, 'key') }, call.principal);
        return json(200, fileJson(present(entry), fileHolder(ofDraft, call)));
      },
    },
  ];
}

/** The list of files and each of them, of a draft or a published entity. */
function readRoutes(deps: FilesDeps): Operation[] {
  const { kind, clients } = deps;
  const isDraft = deps.form === 'draft';
  const title = `${KIND_NAMES[kind].title}${isDraft ? 'Draft' : ''}`;
  const path = `/api/${COLLECTION[kind]}/:id${isDraft ? '/draft' : ''}/files`;
  const facts = { method: 'GET', ...(isDraft ? {} : { auth: 'open' as const }), errors: [403, 404] } as const;
  return [
    {
      ...facts,
      path,
      operationId: `list${title}Files`,
      summary: isDraft ? 'The files of the draft.' : 'The published files.',
      responses: { 200: 'FileListing' },
      handler: async (call) => {
        const authorised = await authoriseFiles(deps, 'read', call);
        const { ticket, filesEnabled } = authorised;
        const { principal, signal } = call;
        const { entries } = filesEnabled
          ? await clients.files.listEntries({ ticket }, principal, { signal })
          : { entries: [] };
        return json(200, fileListJson(authorised, entries, fileHolder(deps, call)));
      },
    },
    {
      ...facts,
      path: `${path}/:key`,
      operationId: `read${title}File`,
      summary: isDraft ? 'One file of the draft.' : 'One published file.',
      responses: { 200: 'File' },
      handler: async (call) => {
        const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
        const { principal, signal } = call;
        const key = param(call, 'key');
        const { entry } = await clients.files.readEntry({ ticket, key }, principal, { signal });
        return json(200, fileJson(present(entry), fileHolder(deps, call)));
      },
    },
  ];
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

/** @throws ServiceError `invalid`: not an object */
function metadataJson(body: unknown): Buffer {
  if (!isObject(body)) throw invalid('_schema', 'Invalid input type.');
  return Buffer.from(JSON.stringify(body));
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
