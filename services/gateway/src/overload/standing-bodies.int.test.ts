import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@kr/testbed';
import { type GatewayUnderTest, startGateway } from '../gateway-fixture.ts';

const MIB = 1_048_576;

let gateway: GatewayUnderTest;
beforeAll(async () => {
  gateway = await startGateway({}, { limits: { bodyTimeoutMs: 300_000 } });
});
afterAll(() => gateway.stop());

/** Sends all but the last byte of a body of 1 MiB. */
function stand(token: string) {
  const sent: { change: ClientRequest; answer?: IncomingMessage; isEnded: boolean } = {
    change: request(`${gateway.baseUrl}/api/records`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': MIB,
      },
    }),
    isEnded: false,
  };
  sent.change
    .on('error', () => {})
    .once('response', (answer) => {
      sent.answer = answer;
    })
    .once('close', () => {
      sent.isEnded = true;
    });
  sent.change.write(Buffer.alloc(MIB - 1, 'x'));
  return sent;
}

test('stalled bodies hold 8 MiB of one user, and do not prevent other users from sending one', async () => {
  const [ada, ben] = [await gateway.createUser('ada'), await gateway.createUser('ben')];
  const standing = Array.from({ length: 40 }, () => stand(ada.token));
  const refused = () => standing.filter(({ answer }) => answer !== undefined);
  await until(() => refused().length >= 32);

  const other = stand(ben.token);
  other.change.end('x');
  await until(() => other.answer !== undefined);
  expect(other.answer?.statusCode).toBe(400);

  // The refused requests have released their bytes, so the remaining ones fit.
  expect(refused()).toHaveLength(32);
  const [first] = refused();
  expect([first?.answer?.statusCode, first?.answer?.headers['retry-after']]).toEqual([429, '1']);
  expect(first?.answer && (await json(first.answer))).toMatchObject({ code: 'too_many_bodies' });

  for (const { change } of standing) change.destroy();
  await until(() => standing.every(({ isEnded }) => isEnded));
  await until(async () => {
    const again = stand(ada.token);
    again.change.end('x');
    await until(() => again.answer !== undefined);
    return again.answer?.statusCode === 400;
  });
});
