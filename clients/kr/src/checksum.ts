import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** `md5:` and the digest of a file. */
export async function checksumOf(path: string): Promise<string> {
  const digest = createHash('md5');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) digest.update(chunk);
  return `md5:${digest.digest('hex')}`;
}
