import type { Logger } from '@kr/telemetry';
import type { BlobStore } from './blob-store.ts';
import { filesystemBlobStore } from './filesystem-blob-store.ts';
import { s3BlobStore } from './s3-blob-store.ts';
import { openS3Bucket, type S3Settings } from './s3-bucket.ts';

/** The store of the bytes of files. */
export type StoreSettings = { kind: 'filesystem'; folder: string } | ({ kind: 's3' } & S3Settings);

/** @throws Error when the folder cannot be used; for a bucket, `check` throws */
export async function openBlobStore(settings: StoreSettings, deps: { logger: Logger }): Promise<BlobStore> {
  if (settings.kind === 'filesystem') return filesystemBlobStore(settings.folder, deps);
  return s3BlobStore({ ...deps, bucket: openS3Bucket(settings) });
}
