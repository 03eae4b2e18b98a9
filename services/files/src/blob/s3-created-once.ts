import { type FoundObject, type S3Bucket, statusOf } from './s3-bucket.ts';
import { storeAway } from './store-errors.ts';

export interface NewObject {
  key: string;
  sizeBytes: number;
  /** Tells this object from another one of the same key. */
  origin: string;
}

const MOST_CONFLICTS = 5;

/**
 * Makes an object that must not exist yet, and looks at it. An answer that was lost makes the next try be refused,
 * because the object exists (412) or because its parts have become it (404): then the object itself tells.
 *
 * @throws Error when another object has the key, or this one has another size
 */
export async function createdOnce(
  bucket: S3Bucket,
  { key, sizeBytes, origin }: NewObject,
  create: () => Promise<void>,
): Promise<void> {
  const refusedBy = await refusalOf(create);
  const found = await bucket.find(key);
  if (found?.marks['origin'] === origin && found.sizeBytes === sizeBytes) return;
  throw new Error(`${key} has not become an object of ${sizeBytes} bytes: ${told(found, origin)}`, {
    cause: refusedBy,
  });
}

function told(found: FoundObject | undefined, origin: string): string {
  if (found === undefined) return 'there is none';
  return found.marks['origin'] === origin ? `it has ${found.sizeBytes}` : 'there is another one';
}

async function refusalOf(create: () => Promise<void>): Promise<unknown> {
  for (let tried = 1; ; tried += 1) {
    try {
      await create();
      return undefined;
    } catch (error) {
      const status = statusOf(error);
      if (status === 412 || status === 404) return error;
      if (status !== 409) throw error;
      if (tried === MOST_CONFLICTS) throw storeAway(error);
    }
  }
}
