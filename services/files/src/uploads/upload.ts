import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';

/** A resumable upload into one entry; its bytes become the object of the same id. */
export interface Upload {
  id: string;
  entityId: string;
  key: string;
  /** The owner of the entity; uploads of one owner reserve bytes one after another. */
  ownerId: string | null;
  /** The length of the whole upload; null until the client declares it. */
  lengthBytes: number | null;
  /** Received bytes that survive a power cut. */
  receivedBytes: number;
  /** The header Upload-Metadata unchanged; empty when absent. */
  metadata: string;
  /** When it expires, unless it is finished. */
  expiresAt: Date;
  /** Whether its bytes have become the content of the entry. */
  isFinished: boolean;
}

/** Milliseconds after its latest bytes at which an unfinished upload expires. */
export const EXPIRY_MS = 604_800_000;

/** Columns of an `Upload`. */
export const UPLOAD = `
  id, entity_id as "entityId", key, owner_id as "ownerId", length::float8 as "lengthBytes",
  received::float8 as "receivedBytes", metadata, expires_at as "expiresAt", finished_at is not null as "isFinished"`;

export async function uploadExists(sql: Sql, id: string): Promise<boolean> {
  const found = await sql.$queryRawUnsafe<unknown[]>('select from upload where id = $1', id);
  return found.length > 0;
}

export function noSuchUpload(): ServiceError {
  return new ServiceError('not_found', 'There is no such upload.', { code: 'upload_not_found' });
}

export function uploadInUse(): ServiceError {
  return new ServiceError('conflict', 'Another request is writing to this upload.', {
    code: 'upload_in_use',
    retryAfterMs: 1_000,
  });
}

/** @param maxBytes the limit of the whole upload, by its declared length or by the limit of a file */
export function uploadTooLarge(maxBytes: number): ServiceError {
  return new ServiceError('too_large', `The upload may have at most ${maxBytes} bytes.`, {
    code: 'upload_too_large',
  });
}
