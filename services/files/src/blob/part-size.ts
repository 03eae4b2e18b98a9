/** What S3 demands of the parts of an object (Amazon S3 User Guide, multipart upload limits): at least 5 MiB each, and no more than 10,000. */
const LEAST_BYTES = 8_388_608;
const MOST_PARTS = 9_000;

/** Bytes of each part, but the last, of an object of at most that many bytes. */
export function partSize(objectBytes: number): number {
  return Math.max(LEAST_BYTES, Math.ceil(objectBytes / MOST_PARTS));
}
