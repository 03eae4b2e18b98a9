import type { Server } from 'node:http';

/** The default of the files service for uploads, too. */
const LEAST_BYTES_PER_SECOND = 16_384;

/** Bytes of a refused body that are read, so that a client that sends everything first gets the answer. */
const MOST_DRAINED_BYTES = 64 * 1024 * 1024;
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
      const bounding = setInterval(() => {
        if (socket.bytesRead - readAtAnswer > MOST_DRAINED_BYTES) socket.destroy();
        if (request.complete || socket.destroyed) clearInterval(bounding);
      }, CHECK_INTERVAL_MS).unref();
      let readBefore = socket.bytesRead;
      const watching = setInterval(() => {
        const isSlow = socket.bytesRead - readBefore < (LEAST_BYTES_PER_SECOND * overMs) / 1_000;
        readBefore = socket.bytesRead;
        if (!request.complete && !isSlow) return;
        clearInterval(watching);
        if (!request.complete) socket.destroy();
      }, overMs).unref();
    });
  });
}
