import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsOutput,
  ListPartsCommand,
  type ListPartsOutput,
  type MultipartUpload,
  type Part,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { type ByteRange, storeAway, storeFull } from './blob-store.ts';

// The SDK has no paging for uploads, and for parts it continues as long as it gets a marker, which some
// stores send after the last page too.

async function* listMultipartUploads(client: S3Client, bucket: string): AsyncGenerator<MultipartUpload> {
  let from: Pick<ListMultipartUploadsOutput, 'NextKeyMarker' | 'NextUploadIdMarker'> | undefined = {};
  while (from !== undefined) {
    // Without a prefix: MinIO takes one for the name of an object.
    const page: ListMultipartUploadsOutput = await client.send(
      new ListMultipartUploadsCommand({
        Bucket: bucket,
        KeyMarker: from.NextKeyMarker,
        UploadIdMarker: from.NextUploadIdMarker,
      }),
    );
    yield* page.Uploads ?? [];
    from = page.IsTruncated ? page : undefined;
  }
}

async function* listParts(
  client: S3Client,
  upload: { Bucket: string; Key: string; UploadId: string },
): AsyncGenerator<Part> {
  let from: Pick<ListPartsOutput, 'NextPartNumberMarker'> | undefined = {};
  while (from !== undefined) {
    const page: ListPartsOutput = await client.send(
      new ListPartsCommand({ ...upload, PartNumberMarker: from.NextPartNumberMarker }),
    );
    yield* page.Parts ?? [];
    from = page.IsTruncated ? page : undefined;
  }
}

export interface S3Settings {
  /** Undefined means Amazon's own, by the region. */
  endpoint: URL | undefined;
  region: string;
  bucket: string;
  /** Undefined means what the surroundings give (environment, role of the machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Whether the bucket is in the path instead of the host name. */
  isPathStyle: boolean;
  /** Milliseconds that a request may make no progress. */
  idleMs: number;
}

/** Small texts that are kept with an object. */
export type Marks = Readonly<Record<string, string>>;

export interface FoundObject {
  sizeBytes: number;
  marks: Marks;
}

export interface ListedObject {
  key: string;
  sizeBytes: number;
  modifiedAt: Date;
}

export interface ListedPart extends SentPart {
  sizeBytes: number;
  modifiedAt: Date;
}

export interface SentPart {
  number: number;
  etag: string;
  /** Base64, as the store computes it too. */
  crc32: string | undefined;
}

export interface OpenUpload {
  key: string;
  uploadId: string;
}

export interface ListedUpload extends OpenUpload {
  startedAt: Date;
}

/**
 * One bucket of an S3 store, with the operations for objects. Every body has a CRC-32 that the store checks.
 * @throws ServiceError - `insufficient_storage` - `unavailable`: the store is unavailable or busy, also after retries
 * @throws Error other refusals of the store, see `statusOf`
 */
export interface S3Bucket {
  /** Undefined when there is none. */
  find(key: string): Promise<FoundObject | undefined>;
  /** @throws Error with status 412 when `isNew` is demanded and there is one */
  put(key: string, body: Buffer, marks: Marks, demands?: { isNew: boolean }): Promise<void>;
  /** @throws Error with status 404 */
  read(
    key: string,
    options?: { range?: ByteRange | undefined; signal?: AbortSignal },
  ): Promise<{ body: Readable; marks: Marks }>;
  /** One that is not there is removed already. */
  remove(key: string): Promise<void>;
  /** In the order of the keys. */
  list(prefix: string): AsyncIterable<ListedObject>;
  startUpload(key: string, marks: Marks): Promise<OpenUpload>;
  sendPart(upload: OpenUpload, number: number, body: Buffer): Promise<SentPart>;
  /** In the order of their numbers. */
  listParts(upload: OpenUpload): AsyncIterable<ListedPart>;
  /** @throws Error with status 412: the object exists; 409: retry; 404: the upload does not exist any more */
  completeUpload(upload: OpenUpload, parts: readonly SentPart[]): Promise<void>;
  /** One that is not there is aborted already. */
  abortUpload(upload: OpenUpload): Promise<void>;
  listUploads(): AsyncIterable<ListedUpload>;
  /** @throws Error when the bucket is unavailable */
  check(): Promise<void>;
}

/** The status of an answer of the store; undefined where it is not such an answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

export function openS3Bucket({ bucket: Bucket, idleMs, ...settings }: S3Settings): S3Bucket {
  // By default fifty connections would be shared by all downloads, and slow readers would keep the others out.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY };
  const client = new S3Client({
    region: settings.region,
    forcePathStyle: settings.isPathStyle,
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint.href }),
    ...(settings.credentials === undefined ? {} : { credentials: settings.credentials }),
    requestHandler: {
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
      connectionTimeout: 5_000,
      socketTimeout: idleMs,
    },
  });

  /** Of one object; undefined where there is none. */
  const unlessMissing = async <Output>(pending: Promise<Output>): Promise<Output | undefined> => {
    try {
      return await pending;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  };

  return {
    find: async (Key) => {
      const found = await unlessMissing(withStoreErrors(client.send(new HeadObjectCommand({ Bucket, Key }))));
      return found && { sizeBytes: found.ContentLength ?? 0, marks: found.Metadata ?? {} };
    },
    put: async (Key, Body, Metadata, { isNew } = { isNew: false }) => {
      const ifNew = isNew ? { IfNoneMatch: '*' } : {};
      const command = new PutObjectCommand({
        Bucket,
        Key,
        Body,
        Metadata,
        ChecksumAlgorithm: 'CRC32',
        ...ifNew,
      });
      await withStoreErrors(client.send(command));
    },
    read: async (Key, { range, signal } = {}) => {
      const part = range === undefined ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const abort = signal === undefined ? {} : { abortSignal: signal };
      const { Body, Metadata } = await withStoreErrors(
        client.send(new GetObjectCommand({ Bucket, Key, ...part }), abort),
      );
      if (Body === undefined) throw new Error(`the store gave no bytes for ${Key}`);
      return { body: Body as Readable, marks: Metadata ?? {} };
    },
    remove: async (Key) => {
      await unlessMissing(withStoreErrors(client.send(new DeleteObjectCommand({ Bucket, Key }))));
    },
    list: async function* (Prefix) {
      const pages = paginateListObjectsV2({ client }, { Bucket, Prefix });
      for await (const { Contents = [] } of withStoreErrorsEach(pages)) {
        for (const { Key, Size, LastModified } of Contents)
          yield {
            key: known(Key, 'Key'),
            sizeBytes: known(Size, 'Size'),
            modifiedAt: known(LastModified, 'LastModified'),
          };
      }
    },
    startUpload: async (Key, Metadata) => {
      const command = new CreateMultipartUploadCommand({
        Bucket,
        Key,
        Metadata,
        ChecksumAlgorithm: 'CRC32',
      });
      const { UploadId } = await withStoreErrors(client.send(command));
      return { key: Key, uploadId: known(UploadId, 'UploadId') };
    },
    sendPart: async ({ key: Key, uploadId: UploadId }, number, Body) => {
      const part = { Bucket, Key, UploadId, PartNumber: number, Body, ChecksumAlgorithm: 'CRC32' } as const;
      const { ETag, ChecksumCRC32 } = await withStoreErrors(client.send(new UploadPartCommand(part)));
      return { number, etag: plain(ETag), crc32: ChecksumCRC32 };
    },
    listParts: async function* ({ key: Key, uploadId: UploadId }) {
      const listed = listParts(client, { Bucket, Key, UploadId });
      for await (const { PartNumber, ETag, ChecksumCRC32, Size, LastModified } of withStoreErrorsEach(listed))
        yield {
          number: known(PartNumber, 'PartNumber'),
          etag: plain(ETag),
          crc32: ChecksumCRC32,
          sizeBytes: known(Size, 'Size'),
          modifiedAt: known(LastModified, 'LastModified'),
        };
    },
    completeUpload: async ({ key: Key, uploadId: UploadId }, parts) => {
      const Parts = parts.map(
        ({ number, etag, crc32 }): CompletedPart => ({
          PartNumber: number,
          ETag: `"${etag}"`,
          ...(crc32 === undefined ? {} : { ChecksumCRC32: crc32 }),
        }),
      );
      const command = new CompleteMultipartUploadCommand({
        Bucket,
        Key,
        UploadId,
        MultipartUpload: { Parts },
        IfNoneMatch: '*',
      });
      await withStoreErrors(client.send(command));
    },
    abortUpload: async ({ key: Key, uploadId: UploadId }) => {
      await unlessMissing(
        withStoreErrors(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))),
      );
    },
    listUploads: async function* () {
      for await (const { Key, UploadId, Initiated } of withStoreErrorsEach(
        listMultipartUploads(client, Bucket),
      ))
        yield {
          key: known(Key, 'Key'),
          uploadId: known(UploadId, 'UploadId'),
          startedAt: known(Initiated, 'Initiated'),
        };
    },
    check: async () => {
      await withStoreErrors(client.send(new HeadBucketCommand({ Bucket })));
    },
  };
}

/** Stores differ in whether they put a part's tag in quotes. */
function plain(etag: string | undefined): string {
  return known(etag, 'ETag').replaceAll('"', '');
}

function known<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Error(`the store did not return ${name}`);
  return value;
}

async function withStoreErrors<Output>(pending: Promise<Output>): Promise<Output> {
  try {
    return await pending;
  } catch (error) {
    throw translated(error);
  }
}

async function* withStoreErrorsEach<Item>(pending: AsyncIterable<Item>): AsyncGenerator<Item> {
  try {
    yield* pending;
  } catch (error) {
    throw translated(error);
  }
}

/** MinIO, and stores that keep quotas. */
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
