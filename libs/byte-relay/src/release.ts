/**
 * Releases the memory of a chunk at once if the chunk owns all of it; it must not be used afterwards. Otherwise a stream
 * of bytes makes the garbage collector mark the whole heap every few dozen MiB, which costs more than the transfer.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
