import { PassThrough, type Readable } from 'node:stream';

/**
 * A request's body that its reader may give up without harm to the connection: what is still to come is then dropped,
 * so that a client that sends everything before it listens hears the answer. A client that breaks off breaks the copy.
 */
export function detachedBody(body: Readable): Readable {
  const copy = new PassThrough();
  body.once('error', (error) => copy.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) copy.destroy(new Error('the client broke off'));
  });
  copy.once('close', () => {
    body.unpipe(copy);
    body.resume();
  });
  // The reader hears of an error by itself; here it only must not go unheard.
  copy.on('error', () => {});
  return body.pipe(copy);
}
