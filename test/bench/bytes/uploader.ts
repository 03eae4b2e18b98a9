import { setPriority } from 'node:os';
import { byteClient } from './byte-client.ts';

/** Input of `startUploads`: target, credentials, and content. */
export interface Uploads {
  baseUrl: string;
  token: string;
  source: string;
  fileBytes: number;
  atOnce: number;
}

const A_LITTLE_LESS = 5;

/** Uploads a file repeatedly, several at once, until it is stopped; then prints their number. */
process.once('message', async ({ baseUrl, token, source, fileBytes, atOnce }: Uploads) => {
  // Elsewhere clients have separate machines; here they have lower priority than the measured system.
  setPriority(A_LITTLE_LESS);
  const bytes = byteClient(baseUrl, token);
  let isOver = false;
  let uploads = 0;
  process.once('message', () => {
    isOver = true;
  });
  const first = await Promise.all(Array.from({ length: atOnce }, () => bytes.newFile()));
  process.send?.('begun');
  await Promise.all(
    first.map(async (begun) => {
      for (let file = begun; !isOver; file = await bytes.newFile()) {
        await bytes.put(file, source, fileBytes);
        uploads += 1;
      }
    }),
  );
  bytes.close();
  process.send?.(uploads, () => process.disconnect());
});
