import type { Server } from 'node:http';

/** The same as for uploads in the files service. */
const MIN_BYTES_PER_SECOND = 16_384;

/** Bytes of a rejected body that are read, so that a client that sends everything first gets the answer. */
const MAX_DRAINED_BYTES = 64 * 1024 * 1024;
const CHECK_INTERVAL_MS = 50;

/**
 * Reads the rest of a body after its request was answered, so that a client that sends everything before it
 * reads receives the answer, and closes the connection when too few bytes arrive per interval.
 */
export function drainRequestBody(server: Server, { overMs }: { overMs: number }): void {
  server.on('request', (request, response) => {
    response.once('finish', () => {
      if (request.complete) return;
      const { socket } = request;
      const readAtAnswer = socket.bytesRead;
      const sizeCheck = setInterval(() => {
        if (socket.bytesRead - readAtAnswer > MAX_DRAINED_BYTES) socket.destroy();
        if (request.complete || socket.destroyed) clearInterval(sizeCheck);
      }, CHECK_INTERVAL_MS).unref();
      let readBefore = socket.bytesRead;
      const speedCheck = setInterval(() => {
        const isSlow = socket.bytesRead - readBefore < (MIN_BYTES_PER_SECOND * overMs) / 1_000;
        readBefore = socket.bytesRead;
        if (!request.complete && !isSlow) return;
        clearInterval(speedCheck);
        if (!request.complete) socket.destroy();
      }, overMs).unref();
    });
  });
}
