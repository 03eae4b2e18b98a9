import { constants, getPriority, setPriority } from 'node:os';
import { type MessagePort, parentPort } from 'node:worker_threads';
import {
  type HashAnswer,
  type HashRequest,
  type LocalHash,
  localHash,
  type NewHash,
} from './content-hash.ts';

/** In steps of the scheduler. */
const BELOW_THE_PROCESS = 10;

// On Linux a thread has a priority: requests go before the hashing of uploads.
if (process.platform === 'linux')
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + BELOW_THE_PROCESS));

parentPort?.on('message', ({ names, port }: NewHash) => answer(port, localHash(names)));

/** Until the other end closes the port. */
function answer(port: MessagePort, hash: LocalHash): void {
  const reply = (message: HashAnswer) => port.postMessage(message);
  port.on('message', (request: HashRequest) => {
    if (request === 'digests') reply(hash.digests());
    else if ('copyTo' in request) answer(request.copyTo, hash.copy());
    else {
      hash.update(request);
      reply(null);
    }
  });
}
