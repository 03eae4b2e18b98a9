import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { endSlowReading, relay } from '@kr/byte-relay';
import { ServiceError } from '@kr/service-error';
import type { ByteRange } from '../blob/blob-store.ts';
import { sendError } from '../http/errors.ts';
import { isRangeValid, precondition, type Validators } from './conditions.ts';

/** `whole`: the header is ignored. */
export type RangeVerdict = 'whole' | 'unsatisfiable' | ByteRange;

const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * The part of a representation that a Range header asks for (RFC 9110, 14.1.2). A malformed header, another unit and a list of
 * ranges are ignored, which 14.2 lets a server do.
 */
export function byteRange(header: string | undefined, sizeBytes: number): RangeVerdict {
  const [matched, first = '', last = '', suffix = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (matched === undefined) return 'whole';
  const isSuffix = first === '';
  // A range cannot name a part of a representation without bytes, but its last bytes may be asked for.
  if (isSuffix && sizeBytes === 0 && Number(suffix) > 0) return 'whole';
  if (!isSuffix && last !== '' && Number(last) < Number(first)) return 'whole';
  const start = isSuffix ? Math.max(0, sizeBytes - Number(suffix)) : Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return start <= end ? { start, end } : 'unsatisfiable';
}

/** What a GET of one resource answers with: bytes whose number is known before they are read, whole or in parts. */
export interface Representation extends Validators {
  sizeBytes: number;
  /** The media type of all the bytes. */
  type: string;
  /** What else is told of the bytes, whichever part of them is sent. */
  headers: Readonly<Record<string, string>>;
  /** What is told only where all the bytes are sent. */
  wholeHeaders: Readonly<Record<string, string>>;
  /** What a client must not do with the bytes; told again where only their state is confirmed. */
  safety: Readonly<Record<string, string>>;
  /**
   * Where the bytes lie as one file below the folder of the store, for who sends them from there; undefined where they do
   * not. It fails as `open` does.
   */
  storedPath?(): Promise<string | undefined>;
  /** The bytes of a part, in chunks for this reader alone. It fails before anything is told of the answer when there are others than were promised. */
  open(part: ByteRange): Promise<Readable>;
}

export interface ServeRepresentationDeps {
  /** Bytes a second that must be read on average. */
  minDownloadBytesPerSecond: number;
}

/** More than the gateway saves up: it is nearer to the reader, and counts those that it gives up. */
const MOST_SAVED_BYTES = 8_388_608;

/**
 * Answers a GET or HEAD with a representation, with conditions and one byte range (RFC 9110, 13 and 14). A failure after
 * the head of the answer is thrown like any other, and is to end the connection.
 *
 * @throws ServiceError `precondition_failed`
 */
export async function serveRepresentation(
  { minDownloadBytesPerSecond }: ServeRepresentationDeps,
  request: IncomingMessage,
  response: ServerResponse,
  representation: Representation,
): Promise<void> {
  const { sizeBytes, safety } = representation;
  const condition = precondition(request.headers, representation);
  if (condition === 'failed') throw new ServiceError('precondition_failed', 'The file has another version.');
  if (condition === 'unchanged') {
    // What it is of stays as the client has it; what this connection says of other answers must not replace that.
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
  if (isHandedOver(request, verdict)) {
    const path = await representation.storedPath?.();
    if (path !== undefined) return void handOver(response, representation, verdict, path);
  }
  endSlowReading(response, {
    minBytesPerSecond: minDownloadBytesPerSecond,
    mostSavedBytes: MOST_SAVED_BYTES,
  });
  if (verdict === 'whole') await sendWhole(response, representation);
  else await sendPart(response, representation, verdict);
}

/** What a front proxy would judge once more, by another tag or date than the file's. */
const JUDGED_AGAIN = ['if-match', 'if-unmodified-since', 'if-range'] as const;

/** Whether the front proxy may send the bytes, which says so by the header `kr-hand-over`. */
function isHandedOver({ headers }: IncomingMessage, verdict: 'whole' | ByteRange): boolean {
  if (headers['kr-hand-over'] !== 'path') return false;
  if (JUDGED_AGAIN.some((name) => headers[name] !== undefined)) return false;
  // A header that is ignored here may mean something to the proxy.
  return verdict !== 'whole' || headers.range === undefined;
}

/** Everything but the bytes, with the place where they are. Who sends them knows about ranges. */
function handOver(
  response: ServerResponse,
  representation: Representation,
  verdict: 'whole' | ByteRange,
  path: string,
): void {
  const { 'accept-ranges': _, ...told } = partHeaders(representation);
  response.writeHead(200, {
    ...told,
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

async function sendWhole(response: ServerResponse, representation: Representation): Promise<void> {
  const bytes = await representation.open({ start: 0, end: representation.sizeBytes - 1 });
  response.writeHead(200, wholeHeaders(representation));
  await relay(bytes, response);
}

async function sendPart(
  response: ServerResponse,
  representation: Representation,
  part: ByteRange,
): Promise<void> {
  const bytes = await representation.open(part);
  response.writeHead(206, {
    ...partHeaders(representation),
    'content-type': representation.type,
    'content-length': part.end - part.start + 1,
    'content-range': `bytes ${part.start}-${part.end}/${representation.sizeBytes}`,
  });
  await relay(bytes, response);
}
