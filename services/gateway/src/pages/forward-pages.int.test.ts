import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import express from 'express';
import { openResponseCache } from '../response-cache/response-cache.ts';
import { type ForwardPages, forwardPages } from './forward-pages.ts';

const PAGE = '/records/aaaaa-bbbbb';
const BROWSER = { accept: 'text/html,*/*;q=0.8' };

let web: Server;
let gateway: Server;
let pages: ForwardPages;
/** Answers each request for a page that the web service received. */
let finish: (() => void)[];

beforeEach(async () => {
  finish = [];
  web = createServer((_request, response) => {
    const text = `page ${finish.length}`;
    finish.push(() => response.writeHead(200, { 'x-parent-id': 'p' }).end(text));
  });
  const webUrl = new URL(await listening(web));
  const cache = openResponseCache(() => 0);
  pages = forwardPages({
    webUrl,
    webKey: 'a key',
    baseUrlOf: () => 'http://h',
    isTrusted: () => false,
    rateLimits: { count: () => undefined },
    cache,
  });
  gateway = createServer(express().use(pages.handler));
  await listening(gateway);
});
afterEach(async () => {
  for (const server of [gateway, web]) server.close().closeAllConnections();
  await pages.close();
});

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function get(headers: Record<string, string>): Promise<string> {
  const { port } = gateway.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${PAGE}`, { headers });
  return response.text();
}

/** Sends the second request while the page of the first is being rendered. */
async function getTwo(headers: Record<string, string>, hasArrived: () => boolean): Promise<string[]> {
  const first = get(headers);
  await until(() => finish.length === 1);
  const second = get(headers);
  await until(hasArrived);
  for (const done of finish) done();
  return Promise.all([first, second]);
}

test('readers of a public page wait for the one that is being rendered', async () => {
  let arrived = 0;
  gateway.on('request', () => {
    arrived += 1;
  });
  expect(await getTwo(BROWSER, () => arrived === 2)).toEqual(['page 0', 'page 0']);
  expect(finish.length).toBe(1);
});

test.each<[string, Record<string, string>]>([
  ['a session', { ...BROWSER, cookie: 'session=1' }],
  ['a token', { ...BROWSER, authorization: 'Bearer x' }],
  ['another format', { accept: 'application/ld+json' }],
])('requests with %s are rendered one by one', async (_name, headers) => {
  expect(await getTwo(headers, () => finish.length === 2)).toEqual(['page 0', 'page 1']);
});
