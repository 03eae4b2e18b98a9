import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { endSlowReading, pipeAll } from '@kr/byte-relay';
import { ServiceError } from '@kr/service-error';
import type { ByteRange } from '../blob/blob-store.ts';
import type { FilesContext } from '../context.ts';
import { sendError } from '../http/errors.ts';
import { isRangeValid, precondition, type Validators } from './conditions.ts';

/** `whole`: the header is ignored. */
export type RangeVerdict = 'whole' | 'unsatisfiable' | ByteRange;

const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * The range of a representation in a Range header (RFC 9110, 14.1.2). A malformed header, another unit and a list of
 * ranges are ignored, as 14.2 permits.
 */
export function byteRange(header: string | undefined, sizeBytes: number): RangeVerdict {
  const [matched, first = '', last = '', suffix = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (matched === undefined) return 'whole';
  const isSuffix = first === '';
  // An empty representation has no ranges, but a suffix range is valid.
  if (isSuffix && sizeBytes === 0 && Number(suffix) > 0) return 'whole';
  if (!isSuffix && last !== '' && Number(last) < Number(first)) return 'whole';
  const start = isSuffix ? Math.max(0, sizeBytes - Number(suffix)) : Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end ? { start, end } : 'unsatisfiable';
}

/** The answer to a GET of one resource: bytes of a known number, whole or a range. */
export interface Representation extends Validators {
  sizeBytes: number;
  /** The media type of all the bytes. */
  type: string;
  /** Further headers, of whole and partial answers. */
  headers: Readonly<Record<string, string>>;
  /** Headers of whole answers only. */
  wholeHeaders: Readonly<Record<string, string>>;
  /** Restrictions for the client; sent again with 304. */
  safety: Readonly<Record<string, string>>;
  /**
   * The path of the bytes below the folder of the store, for a front proxy; undefined if they are not one
   * file. It fails as `open` does.
   */
  storedPath?(): Promise<string | undefined>;
  /**
   * The bytes of a range, in chunks for this reader only; few bytes as one buffer. If the number differs from the declared one,
   * it fails before the headers are sent.
   */
  open(part: ByteRange): Promise<Readable | Buffer>;
}

/**
 * More than the gateway buffers: the gateway is nearer to the client, and counts clients that it disconnects.
 */
const MAX_BURST_BYTES = 8_388_608;

/**
 * Answers a GET or HEAD with a representation, with conditions and one byte range (RFC 9110, 13 and 14). A failure after
 * the head of the answer is thrown like any other, and is to end the connection.
 *
 * @throws ServiceError `precondition_failed`
 */
export async function serveRepresentation(
  { minDownloadBytesPerSecond }: Pick<FilesContext, 'minDownloadBytesPerSecond'>,
  request: IncomingMessage,
  response: ServerResponse,
  representation: Representation,
): Promise<void> {
  const { sizeBytes, safety } = representation;
  const condition = precondition(request.headers, representation);
  if (condition === 'failed') throw new ServiceError('precondition_failed', 'The file has another version.');
  if (condition === 'unchanged') {
    // The type stays as the client has it; headers of this connection must not replace it.
    response.writeHead(304, { ...validatorHeaders(representation), ...safety }).end();
    return;
  }
  const verdict = byteRange(rangeHeader(request, representation), sizeBytes);
  if (verdict === 'unsatisfiable') {
    response.setHeader('accept-ranges', 'bytes');
    response.setHeader('content-range', `bytes */${sizeBytes}`);
    sendError(response, 416, 'The range lies outside the file.');
    return;
  }
  if (request.method === 'HEAD') return void response.writeHead(200, wholeHeaders(representation)).end();
  if (isSentByProxy(request, verdict)) {
    const path = await representation.storedPath?.();
    if (path !== undefined) return void sendByProxy(response, representation, verdict, path);
  }
  const part = verdict === 'whole' ? { start: 0, end: sizeBytes - 1 } : verdict;
  const bytes = await representation.open(part);
  if (verdict === 'whole') response.writeHead(200, wholeHeaders(representation));
  else response.writeHead(206, rangeHeaders(representation, verdict));
  if (Buffer.isBuffer(bytes)) response.end(bytes);
  if (response.writableEnded && response.writableLength === 0) return;
  endSlowReading(response, {
    minBytesPerSecond: minDownloadBytesPerSecond,
    maxCreditBytes: MAX_BURST_BYTES,
  });
  if (!Buffer.isBuffer(bytes)) await pipeAll(bytes, response);
}

/** Conditions that a front proxy would evaluate again, with another tag or date than the file's. */
const REEVALUATED = ['if-match', 'if-unmodified-since', 'if-range'] as const;

/** Whether the front proxy may send the bytes, which it offers by the header `kr-x-accel`. */
function isSentByProxy({ headers }: IncomingMessage, verdict: 'whole' | ByteRange): boolean {
  if (headers['kr-x-accel'] !== 'path') return false;
  if (REEVALUATED.some((name) => headers[name] !== undefined)) return false;
  // A header that is ignored here may mean something to the proxy.
  return verdict !== 'whole' || headers.range === undefined;
}

/** All headers and the path of the bytes. The front proxy handles ranges. */
function sendByProxy(
  response: ServerResponse,
  representation: Representation,
  verdict: 'whole' | ByteRange,
  path: string,
): void {
  const { 'accept-ranges': _, ...headers } = partHeaders(representation);
  response.writeHead(200, {
    ...headers,
    ...(verdict === 'whole' ? representation.wholeHeaders : {}),
    'content-type': representation.type,
    'content-length': 0,
    'kr-stored-path': path,
  });
  response.end();
}

/** A range is defined for GET only. */
function rangeHeader(request: IncomingMessage, representation: Representation): string | undefined {
  const ifRange = request.headers['if-range']?.toString();
  const isRanged = request.method === 'GET' && isRangeValid(ifRange, representation);
  return isRanged ? request.headers.range : undefined;
}

function validatorHeaders({ etag, lastModified }: Representation): Record<string, string> {
  return { etag, ...(lastModified === undefined ? {} : { 'last-modified': lastModified.toUTCString() }) };
}

function partHeaders(representation: Representation): Record<string, string> {
  const { headers, safety } = representation;
  return { 'accept-ranges': 'bytes', ...validatorHeaders(representation), ...headers, ...safety };
}

function wholeHeaders(representation: Representation): Record<string, string | number> {
  const { type, sizeBytes } = representation;
  return {
    ...partHeaders(representation),
    ...representation.wholeHeaders,
    'content-type': type,
    'content-length': sizeBytes,
  };
}

function rangeHeaders(
  representation: Representation,
  { start, end }: ByteRange,
): Record<string, string | number> {
  return {
    ...partHeaders(representation),
    'content-type': representation.type,
    'content-length': end - start + 1,
    'content-range': `bytes ${start}-${end}/${representation.sizeBytes}`,
  };
}
