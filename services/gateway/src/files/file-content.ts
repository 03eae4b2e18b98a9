import { text } from 'node:stream/consumers';
import proxyAddr from 'proxy-addr';
import type { GatewayConfig } from '../config.ts';
import { type Call, json, param, type Reply, type StreamReply } from '../http/endpoint.ts';
import type { Route } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { storedFileJson } from '../rendering/file-json.ts';
import { pageLink } from '../rendering/links.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder, reauthoriseFiles } from './authorise-files.ts';
import {
  asUnavailable,
  type ContentAnswer,
  type ContentPlane,
  type ContentRequest,
  contentRefusal,
} from './content-plane.ts';

/** The bytes of files: of drafts, and of published entities. */
export function contentRoutes(
  ofDraft: FilesDeps,
  ofPublished: FilesDeps,
  plane: ContentPlane,
  xAccel: XAccelRedirect,
): Route[] {
  return [
    ...downloadRoutes(ofDraft, plane, xAccel),
    ...downloadRoutes(ofPublished, plane, xAccel),
    {
      method: 'PUT',
      path: `/api/${COLLECTION[ofDraft.kind]}/:id/draft/files/:key/content`,
      auth: 'token',
      body: 'bytes',
      produces: 'json',
      lane: 'transfer',
      changes: [],
      operationId: `put${KIND_NAMES[ofDraft.kind].title}Content`,
      openapi: {
        tag: COLLECTION[ofDraft.kind],
        summary: 'Uploads the bytes of a pending file.',
        parameters: ['Id', 'Key'],
        requestBody: 'Bytes',
        responses: { 200: 'File' },
        errors: [400, 403, 404, 408, 409, 507],
      },
      handler: (call) => putContent(ofDraft, plane, call),
    },
  ];
}

function downloadRoutes(deps: FilesDeps, plane: ContentPlane, xAccel: XAccelRedirect): Route[] {
  const tag = COLLECTION[deps.kind];
  const isDraft = deps.form === 'draft';
  const title = `${KIND_NAMES[deps.kind].title}${isDraft ? 'Draft' : ''}`;
  const of = isDraft ? `/api/${tag}/:id/draft` : `/api/${tag}/:id`;
  const auth = isDraft ? 'token' : 'open';
  const conditions = ['Range', 'IfRange', 'IfMatchTag', 'IfNoneMatch'];
  const refusals = { 412: 'OtherBytes', 416: 'NoSuchRange' };
  return [
    {
      method: 'GET',
      path: `${of}/files-archive`,
      auth,
      produces: 'any',
      lane: 'transfer',
      operationId: `read${title}Archive`,
      openapi: {
        tag,
        summary: `All ${isDraft ? 'completed files of the draft' : 'published files'} as one ZIP file, or a range of it.`,
        parameters: ['Id', ...conditions],
        responses: { 200: 'Archive', 206: 'ArchivePart', ...refusals },
        errors: [403, 404],
      },
      handler: (call) => download(deps, plane, call, { endpoint: 'archive' }),
    },
    {
      method: 'GET',
      path: `${of}/files/:key/content`,
      auth,
      produces: 'any',
      lane: 'transfer',
      operationId: `read${title}Content`,
      openapi: {
        tag,
        summary: `The bytes of a ${isDraft ? '' : 'published '}file, or a range of them.`,
        parameters: ['Id', 'Key', ...conditions, 'IfModifiedSince', 'IfUnmodifiedSince'],
        responses: { 200: 'Bytes', 206: 'Part', ...refusals },
        errors: [403, 404],
      },
      handler: (call) =>
        download(deps, plane, call, { endpoint: 'content', key: param(call, 'key'), xAccel }),
    },
  ];
}

/** Has a front proxy send stored files by itself, once everything was decided about them (`X-Accel-Redirect`). */
export interface XAccelRedirect {
  /** The header for the files service; none if the request did not pass such a proxy. */
  offered(call: Call): Record<string, string>;
  /** The headers for the proxy, which names the file where the files service has named it. */
  headers(answer: ContentAnswer): ContentAnswer['headers'];
}

const STORED_PATH = 'kr-stored-path';
/** The proxy identifies itself by `X-Accel-Support` in each forwarded request. */
const WAY = 'x-accel-redirect';
/** The proxy's internal location of the folder of stored bytes. */
const LOCATION = '/stored-files/';

export function xAccelRedirect({
  xAccel: isEnabled,
  trustedProxies,
}: Pick<GatewayConfig, 'xAccel' | 'trustedProxies'>): XAccelRedirect {
  const isTrusted = proxyAddr.compile([...trustedProxies]);
  return {
    // A request that bypasses the proxy, perhaps from the same machine, would get an empty answer.
    offered: ({ peer, headers }) =>
      isEnabled && peer !== undefined && isTrusted(peer, 0) && headers['x-accel-support'] === WAY
        ? { 'kr-x-accel': 'path' }
        : {},
    headers: ({ headers: { [STORED_PATH]: path, ...headers } }) =>
      !isEnabled || typeof path !== 'string' ? headers : { ...headers, 'x-accel-redirect': LOCATION + path },
  };
}

/** Headers that select a range, or allow an answer without bytes. */
const CONDITIONS = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
] as const;

/** Streams the bytes of an entity's files to permitted readers. All downloads use it. */
async function download(
  deps: FilesDeps,
  plane: ContentPlane,
  call: Call,
  wanted: Pick<ContentRequest, 'endpoint' | 'key'> & { xAccel?: XAccelRedirect },
): Promise<StreamReply> {
  const { xAccel, ...target } = wanted;
  const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
  const headers: Record<string, string> = { ...xAccel?.offered(call) };
  for (const name of CONDITIONS) {
    const value = call.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  const answer = await plane.request({
    method: call.method === 'HEAD' ? 'HEAD' : 'GET',
    ...target,
    entityId: param(call, 'id'),
    ticket,
    headers,
    signal: call.signal,
    recheck: () => reauthoriseFiles(deps, 'read', call),
  });
  if (answer.status >= 400) throw await contentRefusal(answer);
  const answered = xAccel?.headers(answer) ?? answer.headers;
  const link =
    deps.form === 'published'
      ? { link: pageLink('collection', deps.kind, param(call, 'id'), call.baseUrl) }
      : {};
  return { as: 'stream', status: answer.status, headers: { ...answered, ...link }, stream: answer.body };
}

async function putContent(deps: FilesDeps, plane: ContentPlane, call: Call): Promise<Reply> {
  const { ticket } = await authoriseEnabledFiles(deps, 'write', call);
  const length = call.headers['content-length'];
  const answer = await plane.request({
    method: 'PUT',
    endpoint: 'content',
    entityId: param(call, 'id'),
    key: param(call, 'key'),
    ticket,
    headers: {
      'content-type': 'application/octet-stream',
      ...(length === undefined ? {} : { 'content-length': length }),
    },
    body: call.bytes,
    recheck: () => reauthoriseFiles(deps, 'write', call),
  });
  if (answer.status !== 200) throw await contentRefusal(answer);
  const file = await text(answer.body).catch((cause: unknown) => {
    throw asUnavailable(cause);
  });
  return json(200, storedFileJson(JSON.parse(file), fileHolder(deps, call)));
}
