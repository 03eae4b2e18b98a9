import type { OpenUpload, S3Bucket, SentPart } from './s3-bucket.ts';

/** Parts of one multipart upload on their way to the store, a few at a time. */
export interface SentParts {
  /** Waits for a free place, not for the part. @throws what an earlier part was refused with */
  send(body: Buffer): Promise<void>;
  /** All that were sent since, in their order, once they have arrived. @throws what one was refused with */
  arrived(): Promise<SentPart[]>;
  /** Waits for what is on its way, whatever becomes of it: an abort that overtook a part would leave it in the store. */
  ended(): Promise<void>;
}

const MOST_IN_FLIGHT = 4;

/** @param before how many parts the upload has already */
export function sentParts(bucket: S3Bucket, upload: OpenUpload, before = 0): SentParts {
  const inFlight = new Set<Promise<unknown>>();
  let sent: Promise<SentPart>[] = [];
  let latest = before;

  return {
    send: async (body) => {
      while (inFlight.size >= MOST_IN_FLIGHT) await Promise.race(inFlight);
      latest += 1;
      const part = bucket.sendPart(upload, latest, body);
      sent.push(part);
      inFlight.add(part);
      part.then(
        () => inFlight.delete(part),
        // Stays, so that whoever waits for a place or for all hears of it.
        () => {},
      );
    },
    arrived: async () => {
      const parts = await Promise.all(sent);
      sent = [];
      return parts;
    },
    ended: async () => {
      await Promise.allSettled(inFlight);
    },
  };
}
