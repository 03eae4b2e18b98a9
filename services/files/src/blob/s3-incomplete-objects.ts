import { failpoint } from '@kr/failpoint';
import { type Appended, type AppendOptions, isUuid, type ListedBlob, storeChunks } from './blob-store.ts';
import type { OpenUpload, S3Bucket, SentPart } from './s3-bucket.ts';
import {
  chained,
  INCOMPLETE,
  listMoments,
  type Moment,
  type MomentKey,
  momentOfKey,
  readMoment,
  saveMoment,
  uploadOfMoment,
} from './s3-moments.ts';
import { createdOnce, objectKey, partBuffer, partSize, partsUpload } from './s3-objects.ts';

const NOTHING: Moment = { totalBytes: 0, partsBytes: 0, parts: 0, uploadId: undefined, chain: '' };

/** The part of the store's port for objects that arrive in several appends. */
export function incompleteObjects(bucket: S3Bucket) {
  async function append(
    id: string,
    source: AsyncIterable<Uint8Array>,
    { sizeHint, from, durableEvery, onDurable, beforeWrite }: AppendOptions,
  ): Promise<Appended> {
    const moments = await listMoments(bucket, id);
    const started = await begin(id, moments, from);
    const buffered = partBuffer(partSize(sizeHint), started.tail);
    let { moment } = started;
    const parts = partsUpload(bucket, {
      key: objectKey(id),
      origin: id,
      uploadId: moment.uploadId,
      before: moment.parts,
    });
    let keys = moments.map(({ key }) => key);
    /** The state to which the caller may return. */
    let saved = { key: started.key, bytes: from };
    let totalBytes = from;
    let partsBytes = moment.partsBytes;

    const makeDurable = async () => {
      const arrived = await parts.arrived();
      beforeWrite();
      moment = {
        totalBytes,
        partsBytes,
        parts: moment.parts + arrived.length,
        uploadId: parts.upload()?.uploadId ?? moment.uploadId,
        chain: chained(moment.chain, arrived),
      };
      const key = await saveMoment(bucket, id, moment, buffered.rest());
      // The previous one is needed until the caller has received this one.
      const needed = partsBytes <= saved.bytes || saved.key === undefined ? [key] : [key, saved.key];
      for (const old of keys) if (!needed.includes(old)) await bucket.remove(old);
      keys = needed;
      return key;
    };

    let durableBytes = from;
    const addChunk = async (chunk: Uint8Array) => {
      totalBytes += chunk.length;
      for (const part of buffered.add(chunk)) {
        beforeWrite();
        await parts.send(part);
        partsBytes += part.length;
      }
      if (totalBytes - durableBytes < durableEvery) return;
      const key = await makeDurable();
      durableBytes = totalBytes;
      await onDurable(totalBytes);
      saved = { key, bytes: totalBytes };
    };
    try {
      const { sourceError } = await storeChunks(source, addChunk);
      await makeDurable();
      return { totalBytes, sourceError };
    } finally {
      await parts.ended();
    }
  }

  /** The position where an append continues. @throws Error when there are fewer bytes than declared */
  async function begin(
    id: string,
    moments: readonly MomentKey[],
    from: number,
  ): Promise<{ moment: Moment; tail: Buffer; key: string | undefined }> {
    const found = moments.find(({ totalBytes, partsBytes }) => partsBytes <= from && from <= totalBytes);
    if (found !== undefined) {
      const { moment, tail } = await readMoment(bucket, found);
      return {
        moment: { ...moment, totalBytes: from },
        tail: tail.subarray(0, from - moment.partsBytes),
        key: found.key,
      };
    }
    const latest = moments.at(-1);
    if (from > 0) throw new Error(`object ${id} has ${latest?.totalBytes ?? 0} bytes instead of ${from}`);
    const uploadId = latest && (await readMoment(bucket, latest)).moment.uploadId;
    return { moment: { ...NOTHING, uploadId }, tail: Buffer.alloc(0), key: undefined };
  }

  async function complete(id: string, totalBytes: number): Promise<void> {
    const key = objectKey(id);
    const moments = await listMoments(bucket, id);
    if (moments.length === 0) {
      if ((await bucket.find(key)) === undefined) throw new Error(`there is no object ${id}`);
      return;
    }
    const { moment, tail, key: whole } = await begin(id, moments, totalBytes);
    const { uploadId } = moment;
    await createdOnce(bucket, { key, origin: id, sizeBytes: totalBytes }, async () => {
      if (uploadId === undefined || moment.parts === 0)
        return bucket.put(key, tail, { origin: id }, { isNew: true });
      await bucket.completeUpload({ key, uploadId }, await wholeParts({ key, uploadId }, moment, tail));
    });
    await failpoint('files.rename.after');
    if (uploadId !== undefined && moment.parts === 0) await bucket.abortUpload({ key, uploadId });
    for (const { key: other } of moments) if (other !== whole) await bucket.remove(other);
    // The last: without it the others would be taken for all there is.
    if (whole !== undefined) await bucket.remove(whole);
  }

  /** @throws Error when the parts are not those of the moment */
  async function wholeParts(upload: OpenUpload, moment: Moment, tail: Buffer): Promise<SentPart[]> {
    const parts: SentPart[] = [];
    for await (const part of bucket.listParts(upload)) if (part.number <= moment.parts) parts.push(part);
    if (parts.length !== moment.parts || chained('', parts) !== moment.chain)
      throw new Error(`the parts of ${upload.key} differ from the acknowledged ones`);
    if (tail.length > 0) parts.push(await bucket.sendPart(upload, moment.parts + 1, tail));
    return parts;
  }

  async function remove(id: string): Promise<void> {
    for (const moment of await listMoments(bucket, id)) {
      const uploadId = await uploadOfMoment(bucket, moment);
      if (uploadId !== undefined) await bucket.abortUpload({ key: objectKey(id), uploadId });
      await bucket.remove(moment.key);
    }
  }

  async function* list(): AsyncGenerator<ListedBlob> {
    let latest: ListedBlob | undefined;
    for await (const { key, modifiedAt } of bucket.list(INCOMPLETE)) {
      const { id = '', totalBytes: sizeBytes = 0 } = momentOfKey(key) ?? {};
      if (!isUuid(id)) continue;
      if (latest !== undefined && latest.id !== id) yield latest;
      const isOlder = latest?.id === id && latest.storedAt > modifiedAt;
      if (!isOlder) latest = { id, sizeBytes, storedAt: modifiedAt };
    }
    if (latest !== undefined) yield latest;
  }

  async function isUploadOf(id: string, uploadId: string): Promise<boolean> {
    for (const moment of await listMoments(bucket, id))
      if ((await uploadOfMoment(bucket, moment)) === uploadId) return true;
    return false;
  }

  return { append, complete, remove, list, isUploadOf };
}
