import { constants, getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { type HashAnswer, type HashRequest, type LocalHash, localHash } from './content-hash.ts';

/** In steps of the scheduler. */
const BELOW_THE_PROCESS = 10;

const hashes = new Map<number, LocalHash>();
// On Linux a thread has a priority: requests go before the hashing of uploads.
if (process.platform === 'linux')
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + BELOW_THE_PROCESS));

parentPort?.on('message', (request: HashRequest) => {
  const { hash } = request;
  switch (request.what) {
    case 'begin':
      hashes.set(hash, localHash(request.of));
      return;
    case 'copy':
      hashes.set(request.into, known(hash).copy());
      return;
    case 'update':
      known(hash).update(request.bytes);
      return answer(null);
    case 'digests':
      return answer(known(hash).digests());
    case 'drop':
      hashes.delete(hash);
  }
});

function answer(digests: HashAnswer): void {
  parentPort?.postMessage(digests);
}

function known(number: number): LocalHash {
  const hash = hashes.get(number);
  if (hash === undefined) throw new Error(`there is no hash ${number}`);
  return hash;
}
