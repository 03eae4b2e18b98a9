import type { IncomingHttpHeaders } from 'node:http';
import { type Call, type EmptyReply, param, type Reply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { fileLinks } from '../rendering/links.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder, reauthoriseFiles } from './authorise-files.ts';
import type { ContentAnswer, ContentPlane } from './content-plane.ts';
import { contentRefusal } from './content-plane.ts';

/** Resumable uploads of one file, by tus 1.0. */
export function uploadRoutes(deps: FilesDeps, plane: ContentPlane): Route[] {
  const tag = COLLECTION[deps.kind];
  const { title } = KIND_NAMES[deps.kind];
  const all = `/api/${tag}/:id/draft/files/:key/tus`;
  const one = `${all}/:uploadId`;
  const tus = { produces: 'any', protocol: 'tus' } as const;
  return [
    {
      method: 'OPTIONS',
      path: all,
      auth: 'open',
      ...tus,
      operationId: `describe${title}Uploads`,
      openapi: {
        tag,
        summary: 'The supported options of tus 1.0.',
        parameters: ['Id', 'Key'],
        responses: { 204: 'UploadCapabilities' },
      },
      handler: (call) => uploadCapabilities(plane, call),
    },
    {
      method: 'POST',
      path: all,
      auth: 'token',
      body: 'chunk',
      ...tus,
      lane: 'transfer',
      changes: [],
      operationId: `create${title}Upload`,
      openapi: {
        tag,
        summary: 'Begins a resumable upload of a pending file, in place of the one it had.',
        parameters: [
          'Id',
          'Key',
          'TusResumable',
          'UploadLength',
          'UploadDeferLength',
          'UploadMetadata',
          'UploadChecksum',
        ],
        requestBody: 'FirstChunk',
        responses: { 201: 'UploadCreated', 412: 'OtherVersion', 460: 'ChecksumMismatch' },
        errors: [400, 403, 404, 408, 413, 507],
      },
      handler: (call) => createUpload(deps, plane, call),
    },
    {
      method: 'OPTIONS',
      path: one,
      auth: 'open',
      ...tus,
      operationId: `describe${title}Upload`,
      openapi: {
        tag,
        summary: 'The supported options of tus 1.0.',
        parameters: ['Id', 'Key', 'UploadId'],
        responses: { 204: 'UploadCapabilities' },
      },
      handler: (call) => uploadCapabilities(plane, call),
    },
    {
      method: 'HEAD',
      path: one,
      auth: 'token',
      ...tus,
      operationId: `read${title}Upload`,
      openapi: {
        tag,
        summary: 'The offset of an upload; a request that is writing to it is aborted.',
        parameters: ['Id', 'Key', 'UploadId', 'TusResumable'],
        responses: { 200: 'UploadState', 410: 'Expired', 412: 'OtherVersion', 423: 'NotNow' },
        errors: [403, 404],
      },
      handler: (call) => relayUpload('HEAD', deps, plane, call),
    },
    {
      method: 'PATCH',
      path: one,
      auth: 'token',
      body: 'chunk',
      ...tus,
      cost: 'nothing',
      lane: 'transfer',
      changes: [],
      operationId: `continue${title}Upload`,
      openapi: {
        tag,
        summary: 'Adds bytes at the end of an upload; with the last of them the file can be committed.',
        parameters: [
          'Id',
          'Key',
          'UploadId',
          'TusResumable',
          'UploadOffset',
          'UploadLength',
          'UploadChecksum',
        ],
        requestBody: 'Chunk',
        responses: {
          204: 'ChunkTaken',
          409: 'WrongOffset',
          410: 'Expired',
          412: 'OtherVersion',
          460: 'ChecksumMismatch',
        },
        errors: [400, 403, 404, 408, 413, 415, 507],
      },
      handler: (call) => relayUpload('PATCH', deps, plane, call),
    },
    {
      method: 'DELETE',
      path: one,
      auth: 'token',
      ...tus,
      changes: [],
      operationId: `terminate${title}Upload`,
      openapi: {
        tag,
        summary: 'Gives an upload up, with its bytes; those of a committed file stay.',
        parameters: ['Id', 'Key', 'UploadId', 'TusResumable'],
        responses: { 204: 'UploadTerminated', 412: 'OtherVersion' },
        errors: [400, 403, 404, 409],
      },
      handler: (call) => relayUpload('DELETE', deps, plane, call),
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
async function uploadCapabilities(plane: ContentPlane, call: Call): Promise<Reply> {
  const answer = await plane.request({ method: 'OPTIONS', endpoint: 'uploads', ...place(call), headers: {} });
  return emptyReply(answer);
}

async function createUpload(deps: FilesDeps, plane: ContentPlane, call: Call): Promise<Reply> {
  const reply = await relayUpload('POST', deps, plane, call);
  const id = reply.headers?.['location']?.split('/').at(-1) ?? '';
  const { tus } = fileLinks(fileHolder(deps, call), param(call, 'key'), call.baseUrl);
  return { ...reply, headers: { ...reply.headers, location: `${tus}/${id}` } };
}

/** Sends a request of a resumable upload to the files service. */
async function relayUpload(
  method: 'POST' | 'HEAD' | 'PATCH' | 'DELETE',
  deps: FilesDeps,
  plane: ContentPlane,
  call: Call,
): Promise<EmptyReply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
  const answer = await plane.request({
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
