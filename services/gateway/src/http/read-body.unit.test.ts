import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { readBody } from './body.ts';

test('a body whose request has ended already is not waited for', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-length': '5' };
  await once(request.destroy(), 'close');
  await expect(readBody(request, { maxBytes: 1_024, timeoutMs: 100 })).rejects.toMatchObject({
    status: 400,
    message: 'The request body is incomplete.',
  });
});
