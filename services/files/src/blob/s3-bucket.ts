import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import {
  type ListMultipartUploadsOutput,
  type ListObjectsV2Output,
  type ListPartsOutput,
  S3,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { type ByteRange, storeAway, storeFull } from './blob-store.ts';

export interface S3Settings {
  /** Undefined means Amazon's own, by the region. */
  endpoint: URL | undefined;
  region: string;
  bucket: string;
  /** Undefined: the SDK finds them (environment, role of the machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Whether the bucket is in the path instead of the host name. */
  isPathStyle: boolean;
  /** Stall timeout of a request in milliseconds. */
  idleMs: number;
}

/** Short texts stored with an object. */
export type Metadata = Readonly<Record<string, string>>;

export interface FoundObject {
  sizeBytes: number;
  metadata: Metadata;
}

export interface ListedObject {
  key: string;
  sizeBytes: number;
  modifiedAt: Date;
}

export interface SentPart {
  number: number;
  etag: string;
  /** Base64, as the store computes it too. */
  crc32: string | undefined;
}

export interface ListedPart extends SentPart {
  sizeBytes: number;
  modifiedAt: Date;
}

export interface OpenUpload {
  key: string;
  uploadId: string;
}

export interface ListedUpload extends OpenUpload {
  startedAt: Date;
}

/** The status of an answer of the store; undefined where it is not such an answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

export type S3Bucket = ReturnType<typeof openS3Bucket>;

/**
 * One bucket of an S3 store. Every body has a CRC-32 that the store checks. All operations throw
 * - ServiceError `insufficient_storage`, `unavailable` (the store cannot be reached or is busy, also after retries);
 * - Error for other refusals of the store, see `statusOf`.
 */
export function openS3Bucket({ bucket: Bucket, idleMs, ...settings }: S3Settings) {
  const client = openClient(settings, idleMs);
  return {
    /** Undefined if the object does not exist. */
    find: async (Key: string): Promise<FoundObject | undefined> => {
      const found = await unlessMissing(client.headObject({ Bucket, Key }));
      return found && { sizeBytes: found.ContentLength ?? 0, metadata: found.Metadata ?? {} };
    },
    /** @throws Error with status 412 when it must be new and there is one */
    put: async (
      Key: string,
      Body: Buffer,
      Metadata: Metadata,
      { isNew } = { isNew: false },
    ): Promise<void> => {
      const condition = isNew ? { IfNoneMatch: '*' } : {};
      await client.putObject({ Bucket, Key, Body, Metadata, ChecksumAlgorithm: 'CRC32', ...condition });
    },
    /** @throws Error with status 404 */
    read: async (
      Key: string,
      { range, signal }: { range?: ByteRange | undefined; signal?: AbortSignal } = {},
    ): Promise<{ body: Readable; metadata: Metadata }> => {
      const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const abort = signal === undefined ? {} : { abortSignal: signal };
      const { Body, Metadata } = await client.getObject({ Bucket, Key, ...part }, abort);
      return { body: required(Body, 'Body') as Readable, metadata: Metadata ?? {} };
    },
    /** Removing a missing object succeeds. */
    remove: async (Key: string): Promise<void> => {
      await unlessMissing(client.deleteObject({ Bucket, Key }));
    },
    /** In the order of the keys. */
    list: async function* (Prefix: string): AsyncGenerator<ListedObject> {
      const page = (from?: ListObjectsV2Output) =>
        client.listObjectsV2({ Bucket, Prefix, ContinuationToken: from?.NextContinuationToken });
      for await (const { Contents = [] } of pages(page))
        for (const { Key, Size, LastModified } of Contents)
          yield {
            key: required(Key, 'Key'),
            sizeBytes: required(Size, 'Size'),
            modifiedAt: required(LastModified, 'LastModified'),
          };
    },
    startUpload: async (Key: string, Metadata: Metadata): Promise<OpenUpload> => {
      const request = { Bucket, Key, Metadata, ChecksumAlgorithm: 'CRC32' } as const;
      const { UploadId } = await client.createMultipartUpload(request);
      return { key: Key, uploadId: required(UploadId, 'UploadId') };
    },
    sendPart: async (
      { key: Key, uploadId: UploadId }: OpenUpload,
      PartNumber: number,
      Body: Buffer,
    ): Promise<SentPart> => {
      const request = { Bucket, Key, UploadId, PartNumber, Body, ChecksumAlgorithm: 'CRC32' } as const;
      const { ETag, ChecksumCRC32 } = await client.uploadPart(request);
      return { number: PartNumber, etag: unquoted(ETag), crc32: ChecksumCRC32 };
    },
    /** In the order of their numbers. */
    listParts: async function* ({ key: Key, uploadId: UploadId }: OpenUpload): AsyncGenerator<ListedPart> {
      const page = (from?: ListPartsOutput) =>
        client.listParts({ Bucket, Key, UploadId, PartNumberMarker: from?.NextPartNumberMarker });
      for await (const { Parts = [] } of pages(page))
        for (const { PartNumber, ETag, ChecksumCRC32, Size, LastModified } of Parts)
          yield {
            number: required(PartNumber, 'PartNumber'),
            etag: unquoted(ETag),
            crc32: ChecksumCRC32,
            sizeBytes: required(Size, 'Size'),
            modifiedAt: required(LastModified, 'LastModified'),
          };
    },
    /** @throws Error with status 412: the object exists; 409: retry; 404: the upload does not exist any more */
    completeUpload: async (
      { key: Key, uploadId: UploadId }: OpenUpload,
      parts: readonly SentPart[],
    ): Promise<void> => {
      const Parts = parts.map(({ number, etag, crc32 }) => ({
        PartNumber: number,
        ETag: `"${etag}"`,
        ...(crc32 !== undefined && { ChecksumCRC32: crc32 }),
      }));
      const request = { Bucket, Key, UploadId, MultipartUpload: { Parts }, IfNoneMatch: '*' };
      await client.completeMultipartUpload(request);
    },
    /** Aborting a missing upload succeeds. */
    abortUpload: async ({ key: Key, uploadId: UploadId }: OpenUpload): Promise<void> => {
      await unlessMissing(client.abortMultipartUpload({ Bucket, Key, UploadId }));
    },
    listUploads: async function* (): AsyncGenerator<ListedUpload> {
      // Without a prefix: MinIO takes one for the name of an object.
      const page = (from?: ListMultipartUploadsOutput) =>
        client.listMultipartUploads({
          Bucket,
          KeyMarker: from?.NextKeyMarker,
          UploadIdMarker: from?.NextUploadIdMarker,
        });
      for await (const { Uploads = [] } of pages(page))
        for (const { Key, UploadId, Initiated } of Uploads)
          yield {
            key: required(Key, 'Key'),
            uploadId: required(UploadId, 'UploadId'),
            startedAt: required(Initiated, 'Initiated'),
          };
    },
    /** @throws Error when the bucket is unavailable */
    check: async (): Promise<void> => {
      await client.headBucket({ Bucket });
    },
  };
}

function openClient(settings: Omit<S3Settings, 'bucket' | 'idleMs'>, idleMs: number): S3 {
  // By default all downloads share fifty connections, and slow readers would exclude the others.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  const client = new S3({
    region: settings.region,
    forcePathStyle: settings.isPathStyle,
    ...(settings.endpoint !== undefined && { endpoint: settings.endpoint.href }),
    ...(settings.credentials !== undefined && { credentials: settings.credentials }),
    requestHandler: {
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
      connectionTimeout: 5_000,
      socketTimeout: idleMs,
    },
  });
  client.middlewareStack.add(
    (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        throw translated(error);
      }
    },
    { step: 'initialize', priority: 'high', name: 'translateErrors' },
  );
  return client;
}

/**
 * All pages of a listing. The SDK has no paging for uploads, and for parts it continues as long as it gets a marker, which some
 * stores also send after the last page.
 */
async function* pages<Page extends { IsTruncated?: boolean | undefined }>(
  fetch: (from?: Page) => Promise<Page>,
): AsyncGenerator<Page> {
  let page = await fetch();
  yield page;
  while (page.IsTruncated) {
    page = await fetch(page);
    yield page;
  }
}

/** Undefined instead of an answer with status 404. */
async function unlessMissing<Output>(answer: Promise<Output>): Promise<Output | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Stores differ in whether they put a part's tag in quotes. */
function unquoted(etag: string | undefined): string {
  return required(etag, 'ETag').replaceAll('"', '');
}

function required<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Error(`the store did not return ${name}`);
  return value;
}

/** MinIO, and stores with quotas. */
const FULL = new Set(['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage']);

/** Error names of the SDK for a store that did not answer, beside the system's codes. */
const SILENT = new Set(['TimeoutError', 'NetworkingError']);

function translated(error: unknown): unknown {
  const status = statusOf(error);
  if (status !== undefined) {
    if (status === 507 || (error instanceof Error && FULL.has(error.name))) return storeFull(error);
    return status === 429 || status >= 500 ? storeAway(error) : error;
  }
  // The system's codes (ECONNREFUSED and the like) count as transient everywhere.
  return error instanceof Error && SILENT.has(error.name) ? storeAway(error) : error;
}
