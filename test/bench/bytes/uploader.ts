import { setPriority } from 'node:os';
import { byteClient } from './byte-client.ts';

/** What `startUploads` is told: where to, whose, and what. */
export interface Uploads {
  baseUrl: string;
  token: string;
  source: string;
  fileBytes: number;
  atOnce: number;
}

const A_LITTLE_LESS = 5;

/** Uploads a file again and again, several at once, until it is told to end; then says how many there were. */
process.once('message', async ({ baseUrl, token, source, fileBytes, atOnce }: Uploads) => {
  // Elsewhere clients have machines of their own; here they give way to what is measured.
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
