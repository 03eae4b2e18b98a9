import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Sends the files of the folder that it is given: what the same bytes cost without us. */
const [, , folder = ''] = process.argv;
const server = createServer(async (request, response) => {
  const path = join(folder, basename(request.url ?? ''));
  const { size } = await stat(path);
  response.writeHead(200, { 'content-length': size });
  await pipeline(createReadStream(path, { highWaterMark: 1_048_576 }), response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.on('disconnect', () => server.close());
