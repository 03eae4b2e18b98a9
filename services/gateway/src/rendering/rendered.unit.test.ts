import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { sendRendered } from './rendered.ts';

test.each<[status: number, method: string, ifNoneMatch: string, sent: number]>([
  [200, 'GET', '"4"', 304],
  [200, 'HEAD', '*', 304],
  [200, 'GET', '"5"', 200],
  [200, 'POST', '*', 200],
  [404, 'GET', '*', 404],
  [404, 'HEAD', '"4"', 404],
  [410, 'GET', '"4"', 410],
])('%d of %s with If-None-Match %s is sent as %d', (status, method, ifNoneMatch, sent) => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const rendered = { status, mediaType: 'text/html', tag: '"4"', bytes: Buffer.from('<!doctype html>') };
  sendRendered(response, rendered, { method, headers: { 'if-none-match': ifNoneMatch } });
  expect([response.statusCode, response.getHeader('etag')]).toEqual([sent, '"4"']);
});
