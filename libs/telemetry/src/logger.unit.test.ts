import { describe, expect, test } from '@jest/globals';
import { createLogger } from './index.ts';

function lines(use: (logger: ReturnType<typeof createLogger>) => void): unknown[] {
  const written: string[] = [];
  use(createLogger('records', { write: (line) => written.push(line) }));
  return written.map((line) => JSON.parse(line));
}

describe('logger', () => {
  test('writes one JSON object a line', () => {
    expect(lines((logger) => logger.info({ grpc_port: 7 }, 'ready'))).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        service: 'records',
        grpc_port: 7,
        msg: 'ready',
      },
    ]);
  });

  test('redacts secrets in their usual places', () => {
    const secret = 'hunter2';
    const written = lines((logger) =>
      logger.info(
        {
          token: secret,
          user: { password: secret, name: 'ada' },
          headers: { authorization: secret, cookie: secret, accept: 'x' },
          request: { headers: { authorization: secret } },
        },
        'asked',
      ),
    );
    expect(JSON.stringify(written)).not.toContain(secret);
    expect(written).toMatchObject([{ user: { name: 'ada' }, headers: { accept: 'x' } }]);
  });
});
