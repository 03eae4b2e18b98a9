import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { uuid } from './blob-store.ts';
import type { S3Bucket, SentPart } from './s3-bucket.ts';

export const INCOMPLETE = 'incomplete/';

/**
 * A durable state of an incomplete object: `partsBytes` of it are parts of a multipart upload,
 * and the bytes after them, less than a part, are the body of a small object whose key and metadata have the other values. One
 * object has the whole state, so a state exists completely or not at all.
 */
export interface Moment {
  totalBytes: number;
  partsBytes: number;
  /** The number of parts of this object; the upload's later parts are unreferenced. */
  parts: number;
  /** Undefined while there has not been a whole part. */
  uploadId: string | undefined;
  /** Hash of the tags of the parts, so that a writer with an expired lease cannot replace one unnoticed. */
  chain: string;
}

/** A state as encoded in its key. */
export interface MomentKey extends Pick<Moment, 'totalBytes' | 'partsBytes'> {
  id: string;
  key: string;
}

const KEY = /^incomplete\/(?<id>[^/]+)\/(?<total>\d{16})-(?<parts>\d{16})$/;

/** Undefined if the key has another form. */
export function momentOfKey(key: string): MomentKey | undefined {
  const { id, total, parts } = KEY.exec(key)?.groups ?? {};
  return id === undefined ? undefined : { id, key, totalBytes: Number(total), partsBytes: Number(parts) };
}

/** The states of an object, the least first. */
export async function listMoments(bucket: S3Bucket, id: string): Promise<MomentKey[]> {
  const found: MomentKey[] = [];
  for await (const { key } of bucket.list(`${INCOMPLETE}${uuid(id)}/`)) {
    const moment = momentOfKey(key);
    if (moment !== undefined) found.push(moment);
  }
  return found;
}

/** The multipart upload of a state; undefined if there is none, or the state is gone. */
export async function uploadOfMoment(bucket: S3Bucket, { key }: MomentKey): Promise<string | undefined> {
  return (await bucket.find(key))?.metadata['upload'];
}

export async function readMoment(
  bucket: S3Bucket,
  { key, totalBytes, partsBytes }: MomentKey,
): Promise<{ moment: Moment; tail: Buffer }> {
  const { body, metadata } = await bucket.read(key);
  const tail = await buffer(body);
  if (partsBytes + tail.length !== totalBytes) throw new Error(`${key} has ${tail.length} bytes`);
  const { parts, upload: uploadId, chain = '' } = metadata;
  return { moment: { totalBytes, partsBytes, parts: Number(parts), uploadId, chain }, tail };
}

/** @returns the key */
export async function saveMoment(
  bucket: S3Bucket,
  id: string,
  moment: Moment,
  tail: Buffer,
): Promise<string> {
  const { totalBytes, partsBytes, parts, uploadId, chain } = moment;
  const key = `${INCOMPLETE}${uuid(id)}/${digits(totalBytes)}-${digits(partsBytes)}`;
  await bucket.put(key, tail, {
    parts: String(parts),
    ...(uploadId !== undefined && { upload: uploadId }),
    ...(chain !== '' && { chain }),
  });
  return key;
}

function digits(bytes: number): string {
  return String(bytes).padStart(16, '0');
}

/** Extends a hash over the tags of parts by those of further parts. */
export function chained(chain: string, parts: readonly SentPart[]): string {
  return parts.reduce(
    (before, { etag }) =>
      createHash('sha256')
        .update(before + etag)
        .digest('hex'),
    chain,
  );
}
