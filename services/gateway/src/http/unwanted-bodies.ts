import type { Server } from 'node:http';

/** What the files service expects of an upload too, unless told otherwise. */
const LEAST_BYTES_PER_SECOND = 16_384;

/**
 * Reads what is still coming of a body after its request was answered, so that a client that sends everything before it
 * listens hears the answer, and ends the connection when too little comes over so many milliseconds.
 */
export function endUnwantedBodies(server: Server, { overMs }: { overMs: number }): void {
  server.on('request', (request, response) => {
    response.once('finish', () => {
      if (request.complete) return;
      const { socket } = request;
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
