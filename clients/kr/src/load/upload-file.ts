import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Transform } from 'node:stream';
import type { ApiClient } from '../api/api-client.ts';
import { type FileEntry, linkOf } from '../api/entity.ts';
import { Failure } from '../failure.ts';
import type { LocalFile } from './definition.ts';

/**
 * Sends the content of an entry that was started, and commits it. `advance` gets the number of sent bytes, negative
 * when an attempt is repeated.
 * @throws Failure when the service stored other bytes than were read here
 */
export async function uploadFile(
  api: ApiClient,
  entry: FileEntry,
  file: LocalFile,
  advance: (bytes: number) => void,
): Promise<FileEntry> {
  let digest = createHash('md5');
  let sent = 0;
  const open = (): Transform => {
    advance(-sent);
    sent = 0;
    digest = createHash('md5');
    const count = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        digest.update(chunk);
        sent += chunk.length;
        advance(chunk.length);
        done(null, chunk);
      },
    });
    const source = createReadStream(file.path);
    source.on('error', (error) => count.destroy(error));
    count.on('close', () => source.destroy());
    return source.pipe(count);
  };
  await api.call({ method: 'PUT', target: linkOf(entry, 'content'), bytes: { size: file.size, open } });
  const committed = await api.call<FileEntry>({
    method: 'POST',
    target: linkOf(entry, 'commit'),
    isRepeatable: true,
  });
  const checksum = `md5:${digest.digest('hex')}`;
  if (committed.checksum !== checksum) {
    throw new Failure(
      `${file.path} arrived damaged: it is ${checksum}, the service has ${committed.checksum ?? 'no checksum'}`,
    );
  }
  return committed;
}
