import { text } from 'node:stream/consumers';
import proxyAddr from 'proxy-addr';
import type { GatewayConfig } from '../config.ts';
import { type Call, json, param, type StreamReply } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { storedFileJson } from '../rendering/file-json.ts';
import { pageLink } from '../rendering/links.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder, reauthoriseFiles } from './authorise-files.ts';
import {
  asUnavailable,
  type ContentAnswer,
  type ContentClient,
  type ContentRequest,
} from './content-client.ts';
import { contentRefusal } from './content-refusal.ts';

/** The bytes of files: of drafts, and of published entities. */
export function contentRoutes(
  ofDraft: FilesDeps,
  ofPublished: FilesDeps,
  client: ContentClient,
  xAccel: XAccelRedirect,
): Operation[] {
  return [
    ...downloadRoutes(ofDraft, client, xAccel),
    ...downloadRoutes(ofPublished, client, xAccel),
    {
      method: 'PUT',
      path: `/api/${COLLECTION[ofDraft.kind]}/:id/draft/files/:key/content`,
      body: 'bytes',
      lane: 'transfer',
      changes: [],
      operationId: `put${KIND_NAMES[ofDraft.kind].title}Content`,
      summary: 'Uploads the bytes of a pending file.',
      requestBody: 'Bytes',
      responses: { 200: 'File' },
      errors: [400, 403, 404, 408, 409, 507],
      handler: async (call) => {
        const { ticket } = await authoriseEnabledFiles(ofDraft, 'write', call);
        const length = call.headers['content-length'];
        const answer = await client.request({
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
          recheck: () => reauthoriseFiles(ofDraft, 'write', call),
        });
        if (answer.status !== 200) throw await contentRefusal(answer);
        const file = await text(answer.body).catch((cause: unknown) => {
          throw asUnavailable(cause);
        });
        return json(200, storedFileJson(JSON.parse(file), fileHolder(ofDraft, call)));
      },
    },
  ];
}

function downloadRoutes(deps: FilesDeps, client: ContentClient, xAccel: XAccelRedirect): Operation[] {
  const collection = COLLECTION[deps.kind];
  const isDraft = deps.form === 'draft';
  const title = `${KIND_NAMES[deps.kind].title}${isDraft ? 'Draft' : ''}`;
  const of = isDraft ? `/api/${collection}/:id/draft` : `/api/${collection}/:id`;
  const facts = {
    method: 'GET',
    ...(isDraft ? {} : { auth: 'open' as const }),
    produces: 'any',
    lane: 'transfer',
    errors: [403, 404],
  } as const;
  const conditions = ['Range', 'IfRange', 'IfMatchTag', 'IfNoneMatch'];
  const refusals = { 412: 'FileChanged', 416: 'NoSuchRange' };
  return [
    {
      ...facts,
      path: `${of}/files-archive`,
      operationId: `read${title}Archive`,
      summary: `All ${isDraft ? 'completed files of the draft' : 'published files'} as one ZIP file, or a range of it.`,
      parameters: conditions,
      responses: { 200: 'Archive', 206: 'ArchivePart', ...refusals },
      handler: (call) => download(deps, client, call, { endpoint: 'archive' }),
    },
    {
      ...facts,
      path: `${of}/files/:key/content`,
      operationId: `read${title}Content`,
      summary: `The bytes of a ${isDraft ? '' : 'published '}file, or a range of them.`,
      parameters: [...conditions, 'IfModifiedSince', 'IfUnmodifiedSince'],
      responses: { 200: 'Bytes', 206: 'Part', ...refusals },
      handler: (call) =>
        download(deps, client, call, { endpoint: 'content', key: param(call, 'key'), xAccel }),
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
const X_ACCEL = 'x-accel-redirect';
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
      isEnabled && peer !== undefined && isTrusted(peer, 0) && headers['x-accel-support'] === X_ACCEL
        ? { 'kr-x-accel': 'path' }
        : {},
    headers: ({ headers: { [STORED_PATH]: path, ...headers } }) =>
      !isEnabled || typeof path !== 'string' ? headers : { ...headers, [X_ACCEL]: LOCATION + path },
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
  client: ContentClient,
  call: Call,
  source: Pick<ContentRequest, 'endpoint' | 'key'> & { xAccel?: XAccelRedirect },
): Promise<StreamReply> {
  const { xAccel, ...target } = source;
  const { ticket } = await authoriseEnabledFiles(deps, 'read', call);
  const headers: Record<string, string> = { ...xAccel?.offered(call) };
  for (const name of CONDITIONS) {
    const value = call.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  const answer = await client.request({
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
