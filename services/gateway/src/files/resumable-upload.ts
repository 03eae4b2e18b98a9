import type { IncomingHttpHeaders } from 'node:http';
import { type Call, type EmptyReply, param, type Reply } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { fileLinks } from '../rendering/links.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder, reauthoriseFiles } from './authorise-files.ts';
import type { ContentAnswer, ContentClient } from './content-client.ts';
import { contentRefusal } from './content-refusal.ts';

/** Resumable uploads of one file, by tus 1.0. */
export function uploadRoutes(deps: FilesDeps, client: ContentClient): Operation[] {
  const collection = COLLECTION[deps.kind];
  const { title } = KIND_NAMES[deps.kind];
  const all = `/api/${collection}/:id/draft/files/:key/tus`;
  const one = `${all}/:uploadId`;
  const tus = { produces: 'any', protocol: 'tus' } as const;
  return [
    {
      method: 'OPTIONS',
      path: all,
      auth: 'open',
      ...tus,
      operationId: `describe${title}Uploads`,
      summary: 'The supported options of tus 1.0.',
      responses: { 204: 'UploadCapabilities' },
      handler: (call) => uploadCapabilities(client, call),
    },
    {
      method: 'POST',
      path: all,
      body: 'chunk',
      ...tus,
      lane: 'transfer',
      changes: [],
      operationId: `create${title}Upload`,
      summary: 'Starts a resumable upload of a pending file and replaces an unfinished one.',
      parameters: ['TusResumable', 'UploadLength', 'UploadDeferLength', 'UploadMetadata', 'UploadChecksum'],
      requestBody: 'FirstChunk',
      responses: { 201: 'UploadCreated', 412: 'TusVersionUnsupported', 460: 'ChecksumMismatch' },
      errors: [400, 403, 404, 408, 413, 507],
      handler: (call) => createUpload(deps, client, call),
    },
    {
      method: 'OPTIONS',
      path: one,
      auth: 'open',
      ...tus,
      operationId: `describe${title}Upload`,
      summary: 'The supported options of tus 1.0.',
      responses: { 204: 'UploadCapabilities' },
      handler: (call) => uploadCapabilities(client, call),
    },
    {
      method: 'HEAD',
      path: one,
      ...tus,
      operationId: `read${title}Upload`,
      summary: 'The offset of an upload; a request that is writing to it is aborted.',
      parameters: ['TusResumable'],
      responses: { 200: 'UploadState', 410: 'Expired', 412: 'TusVersionUnsupported', 423: 'UploadBusy' },
      errors: [403, 404],
      handler: (call) => relayUpload('HEAD', deps, client, call),
    },
    {
      method: 'PATCH',
      path: one,
      body: 'chunk',
      ...tus,
      cost: 'nothing',
      lane: 'transfer',
      changes: [],
      operationId: `continue${title}Upload`,
      summary: 'Appends bytes. After the last byte the file can be committed.',
      parameters: ['TusResumable', 'UploadOffset', 'UploadLength', 'UploadChecksum'],
      requestBody: 'Chunk',
      responses: {
        204: 'ChunkStored',
        409: 'UploadOffsetMismatch',
        410: 'Expired',
        412: 'TusVersionUnsupported',
        460: 'ChecksumMismatch',
      },
      errors: [400, 403, 404, 408, 413, 415, 507],
      handler: (call) => relayUpload('PATCH', deps, client, call),
    },
    {
      method: 'DELETE',
      path: one,
      ...tus,
      changes: [],
      operationId: `terminate${title}Upload`,
      summary: 'Cancels an upload and deletes its bytes. A committed file is not affected.',
      parameters: ['TusResumable'],
      responses: { 204: 'UploadTerminated', 412: 'TusVersionUnsupported' },
      errors: [400, 403, 404, 409],
      handler: (call) => relayUpload('DELETE', deps, client, call),
    },
  ];
}

/** The headers of a request for the files service. */
const TUS_HEADERS = [
  'tus-resumable',
  'upload-length',
  'upload-defer-length',
  'upload-offset',
  'upload-metadata',
  'upload-checksum',
  'upload-concat',
  'content-type',
  'content-length',
] as const;

/** OPTIONS /api/{kind}/{id}/draft/files/{key}/tus and …/tus/{uploadId}: what is offered of tus 1.0. */
async function uploadCapabilities(client: ContentClient, call: Call): Promise<Reply> {
  const answer = await client.request({
    method: 'OPTIONS',
    endpoint: 'uploads',
    ...place(call),
    headers: {},
  });
  return emptyReply(answer);
}

async function createUpload(deps: FilesDeps, client: ContentClient, call: Call): Promise<Reply> {
  const reply = await relayUpload('POST', deps, client, call);
  const id = reply.headers?.['location']?.split('/').at(-1) ?? '';
  const { tus } = fileLinks(fileHolder(deps, call), param(call, 'key'), call.baseUrl);
  return { ...reply, headers: { ...reply.headers, location: `${tus}/${id}` } };
}

/** Sends a request of a resumable upload to the files service. */
async function relayUpload(
  method: 'POST' | 'HEAD' | 'PATCH' | 'DELETE',
  deps: FilesDeps,
  client: ContentClient,
  call: Call,
): Promise<EmptyReply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
  const answer = await client.request({
    method,
    endpoint: 'uploads',
    ...place(call),
    ticket,
    headers: tusHeaders(call.headers),
    signal: call.signal,
    ...(hasBody(call.headers)
      ? { body: call.bytes, recheck: () => reauthoriseFiles(deps, 'write', call) }
      : {}),
  });
  if (answer.status >= 400) throw await contentRefusal(answer);
  return emptyReply(answer);
}

function place({ params }: Call): { entityId: string; key: string; uploadId?: string } {
  const { id = '', key = '', uploadId } = params;
  return { entityId: id, key, ...(uploadId === undefined ? {} : { uploadId }) };
}

function tusHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of TUS_HEADERS) {
    const value = headers[name];
    if (value !== undefined) passed[name] = String(value);
  }
  return passed;
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function emptyReply({ status, headers, body }: ContentAnswer): EmptyReply {
  body.resume();
  const entries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return { as: 'empty', status, headers: Object.fromEntries(entries) };
}
