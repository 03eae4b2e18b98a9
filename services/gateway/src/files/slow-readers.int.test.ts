import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const PATH = '/api/records/x/files/a/content';
/** More than the systems keep between a files service and a reader who does not read. */
const LENGTH = 100_000_000;

let gateway: GatewayUnderTest;
/** Downloads that the files service has not got rid of. */
let sending = 0;
beforeAll(async () => {
  gateway = await startGateway(
    { MAX_TRANSFERS_IN_FLIGHT: '1' },
    { limits: { minDownloadBytesPerSecond: 4_000_000 } },
  );
  gateway.script.records = { Authorise: async () => ({ ticket: 'a ticket', filesEnabled: true }) };
  gateway.script.content = (_request, response) => {
    sending += 1;
    response.once('close', () => {
      sending -= 1;
    });
    response.writeHead(200, { 'content-length': LENGTH }).end(Buffer.alloc(LENGTH));
  };
});
afterAll(() => gateway.stop());

const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

test('a trickling client loses its slot to others', async () => {
  const { hostname, port } = new URL(gateway.baseUrl);
  const socket = connect(Number(port), hostname).on('error', () => {});
  open.push(socket.pause());
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: h\r\n\r\n`);
  await once(socket, 'readable');
  expect(String(socket.read(15))).toBe('HTTP/1.1 200 OK');
  expect((await gateway.fetch(PATH)).status).toBe(503);

  await until(() => {
    socket.read(1);
    return sending === 0;
  });
  const another = await gateway.fetch(PATH);
  expect(another.status).toBe(200);
  await another.body?.cancel();
});
