import type { Readable, Writable } from 'node:stream';
import { release } from './release.ts';

/**
 * Writes what comes from one stream to another, at its pace, and ends it with the first. The chunks must be nobody
 * else's: the memory of each is released as soon as it is written. When `to` closes early the rest is read and dropped;
 * whatever else goes wrong is for the caller to hear of.
 */
export function passOn(from: Readable, to: Writable): void {
  const onData = (chunk: Uint8Array) => {
    if (!to.write(chunk, () => release(chunk))) from.pause();
  };
  const onEnd = () => void to.end();
  const onDrain = () => void from.resume();
  from.on('data', onData).once('end', onEnd);
  to.on('drain', onDrain).once('close', () => {
    from.off('data', onData).off('end', onEnd).resume();
    to.off('drain', onDrain);
  });
}
