/**
 * Gives the memory of a chunk back at once, where the chunk has all of it; nobody may use it any more. A stream of bytes
 * otherwise has the garbage collector mark the whole heap every few dozen MiB, which costs more than passing them on.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
