import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { failpoint } from '@kr/failpoint';
import type { Appended, AppendOptions, ListedBlob } from './blob-store.ts';
import { isUuid, storeChunks, uuid } from './blob-store.ts';
import type { OpenUpload, S3Bucket, SentPart } from './s3-bucket.ts';
import { createdOnce, gatheredParts, objectKey, partSize, type SentParts, sentParts } from './s3-objects.ts';

const INCOMPLETE = 'incomplete/';

/**
 * A durable state of an incomplete object: `partsBytes` of it are parts of a multipart upload,
 * and the bytes after them, less than a part, are the body of a small object whose key has the other values. One object has the
 * whole state, so a state exists completely or not at all.
 */
interface Moment {
  totalBytes: number;
  partsBytes: number;
  /** The number of parts of this object; the upload's later parts are unreferenced. */
  parts: number;
  /** Undefined while there has not been a whole part. */
  uploadId: string | undefined;
  /** Of the tags of the parts, so that a writer whose time was over cannot have exchanged one unseen. */
  chain: string;
}

/** A state as encoded in its key. */
interface MomentKey extends Pick<Moment, 'totalBytes' | 'partsBytes'> {
  key: string;
}

const NOTHING: Moment = { totalBytes: 0, partsBytes: 0, parts: 0, uploadId: undefined, chain: '' };

const KEY = /^incomplete\/(?<id>[^/]+)\/(?<total>\d{16})-(?<parts>\d{16})$/;

/** The part of the store's port for objects that arrive in several appends. */
export function incompleteObjects(bucket: S3Bucket) {
  async function append(
    id: string,
    source: AsyncIterable<Uint8Array>,
    { maxBytes, from, durableEvery, onDurable, beforeWrite }: AppendOptions,
  ): Promise<Appended> {
    const known = await momentsOf(id);
    const begun = await begin(id, known, from);
    const gathered = gatheredParts(partSize(maxBytes), begun.tail);
    let { moment } = begun;
    let keys = known.map(({ key }) => key);
    /** The state to which the caller may return. */
    let keptKey = begun.key;
    let keptBytes = from;
    let totalBytes = from;
    let partsBytes = moment.partsBytes;
    let upload: (OpenUpload & SentParts) | undefined;

    const send = async (part: Buffer) => {
      beforeWrite();
      if (upload === undefined) {
        const opened =
          moment.uploadId === undefined
            ? await bucket.startUpload(objectKey(id), { origin: id })
            : { key: objectKey(id), uploadId: moment.uploadId };
        upload = { ...opened, ...sentParts(bucket, opened, moment.parts) };
      }
      await upload.send(part);
      partsBytes += part.length;
    };
    const makeDurable = async () => {
      const arrived = (await upload?.arrived()) ?? [];
      beforeWrite();
      moment = {
        totalBytes,
        partsBytes,
        parts: moment.parts + arrived.length,
        uploadId: upload?.uploadId ?? moment.uploadId,
        chain: chained(moment.chain, arrived),
      };
      const key = await saveMoment(id, moment, gathered.rest());
      // The previous one is needed until the caller has received this one.
      const isEnough = partsBytes <= keptBytes;
      const kept = [key, ...(isEnough || keptKey === undefined ? [] : [keptKey])];
      for (const old of keys) if (!kept.includes(old)) await bucket.remove(old);
      keys = kept;
      return key;
    };

    let durableBytes = from;
    const addChunk = async (chunk: Uint8Array) => {
      totalBytes += chunk.length;
      for (const part of gathered.add(chunk)) await send(part);
      if (totalBytes - durableBytes < durableEvery) return;
      const key = await makeDurable();
      durableBytes = totalBytes;
      await onDurable(totalBytes);
      [keptKey, keptBytes] = [key, totalBytes];
    };
    try {
      const brokenBy = await storeChunks(source, addChunk);
      await makeDurable();
      return { totalBytes, brokenBy };
    } finally {
      await upload?.ended();
    }
  }

  /** The position where an append continues. @throws Error when there are fewer bytes than declared */
  async function begin(
    id: string,
    known: readonly MomentKey[],
    from: number,
  ): Promise<{ moment: Moment; tail: Buffer; key: string | undefined }> {
    const found = known.find(({ totalBytes, partsBytes }) => partsBytes <= from && from <= totalBytes);
    if (found !== undefined) {
      const { moment, tail } = await readMoment(found);
      return {
        moment: { ...moment, totalBytes: from },
        tail: tail.subarray(0, from - moment.partsBytes),
        key: found.key,
      };
    }
    const latest = known.at(-1);
    if (from > 0) throw new Error(`object ${id} has ${latest?.totalBytes ?? 0} bytes instead of ${from}`);
    const uploadId = latest && (await readMoment(latest)).moment.uploadId;
    return { moment: { ...NOTHING, uploadId }, tail: Buffer.alloc(0), key: undefined };
  }

  async function complete(id: string, totalBytes: number): Promise<void> {
    const key = objectKey(id);
    const moments = await momentsOf(id);
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
    for (const { key } of await momentsOf(id)) {
      // Another process may have removed it since.
      const uploadId = (await bucket.find(key))?.marks['upload'];
      if (uploadId !== undefined) await bucket.abortUpload({ key: objectKey(id), uploadId });
      await bucket.remove(key);
    }
  }

  async function* list(): AsyncGenerator<ListedBlob> {
    let latest: ListedBlob | undefined;
    for await (const { key, modifiedAt } of bucket.list(INCOMPLETE)) {
      const id = KEY.exec(key)?.groups?.['id'] ?? '';
      if (!isUuid(id)) continue;
      if (latest !== undefined && latest.id !== id) yield latest;
      const isOlder = latest?.id === id && latest.storedAt > modifiedAt;
      const sizeBytes = Number(KEY.exec(key)?.groups?.['total']);
      if (!isOlder) latest = { id, sizeBytes, storedAt: modifiedAt };
    }
    if (latest !== undefined) yield latest;
  }

  async function isUploadOf(id: string, uploadId: string): Promise<boolean> {
    for (const { key } of await momentsOf(id)) {
      if ((await bucket.find(key))?.marks['upload'] === uploadId) return true;
    }
    return false;
  }

  /** The least first. */
  async function momentsOf(id: string): Promise<MomentKey[]> {
    const found: MomentKey[] = [];
    for await (const { key } of bucket.list(`${INCOMPLETE}${uuid(id)}/`)) {
      const { total, parts } = KEY.exec(key)?.groups ?? {};
      if (total !== undefined && parts !== undefined)
        found.push({ key, totalBytes: Number(total), partsBytes: Number(parts) });
    }
    return found;
  }

  async function readMoment({
    key,
    totalBytes,
    partsBytes,
  }: MomentKey): Promise<{ moment: Moment; tail: Buffer }> {
    const { body, marks } = await bucket.read(key);
    const tail = await buffer(body);
    if (partsBytes + tail.length !== totalBytes) throw new Error(`${key} has ${tail.length} bytes`);
    return {
      moment: {
        totalBytes,
        partsBytes,
        parts: Number(marks['parts']),
        uploadId: marks['upload'],
        chain: marks['chain'] ?? '',
      },
      tail,
    };
  }

  async function saveMoment(id: string, moment: Moment, tail: Buffer): Promise<string> {
    const { totalBytes, partsBytes, parts, uploadId, chain } = moment;
    const key = `${INCOMPLETE}${uuid(id)}/${digits(totalBytes)}-${digits(partsBytes)}`;
    await bucket.put(key, tail, {
      parts: String(parts),
      ...(uploadId === undefined ? {} : { upload: uploadId }),
      ...(chain === '' ? {} : { chain }),
    });
    return key;
  }

  return { append, complete, remove, list, isUploadOf };
}

function digits(bytes: number): string {
  return String(bytes).padStart(16, '0');
}

/** A hash over the tags of parts, which goes on from where an earlier one ended. */
function chained(chain: string, parts: readonly SentPart[]): string {
  return parts.reduce(
    (before, { etag }) =>
      createHash('sha256')
        .update(before + etag)
        .digest('hex'),
    chain,
  );
}
