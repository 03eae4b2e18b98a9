import { expect, test } from '@jest/globals';
import { readConfig } from './config.ts';
import { LEAST_ENVIRONMENT } from './least-environment-fixture.ts';

test('limits the rate of requests by default', () => {
  expect(readConfig(LEAST_ENVIRONMENT).rateLimit).toEqual({
    anonymousPerMinute: 500,
    userPerMinute: 1_000,
    failedCredentialsPerMinute: 60,
    burstMinutes: 2,
    weights: { search: 5, publish: 10, auditLog: 5 },
  });
});

test.each([
  {
    name: 'a rate below one publication',
    env: { RATE_LIMIT_USER: '4' },
    problem: 'RATE_LIMIT_USER times RATE_LIMIT_BURST_MINUTES is less than one request may weigh, which is 10',
  },
  {
    name: 'a rate that is none',
    env: { RATE_LIMIT_ANONYMOUS: '-1' },
    problem: 'RATE_LIMIT_ANONYMOUS is not a whole number from 0 to 1000000',
  },
  {
    name: 'publishes that outlast their connection',
    env: { RPC_DEADLINE_MS: '10000' },
    problem:
      'RPC_DEADLINE_MS × 12 (120000 ms, the timeout of a publish) must be less than IDLE_TIMEOUT_MS (120000 ms): set IDLE_TIMEOUT_MS to more than 120000 or RPC_DEADLINE_MS to at most 9999',
  },
  {
    name: 'transfers that outlast their connection',
    env: { IDLE_TIMEOUT_MS: '100000' },
    problem:
      'FILES_IDLE_MS (110000 ms) must be less than IDLE_TIMEOUT_MS (100000 ms): set IDLE_TIMEOUT_MS to more than 110000 or FILES_IDLE_MS to less than 100000',
  },
  ...[
    'https://portal.example.org/',
    'portal.example.org',
    'null',
    '*.example.org',
    'https://a.example,*',
  ].map((origins) => ({
    name: `${origins} as origins`,
    env: { CORS_ALLOWED_ORIGINS: origins },
    problem: 'must be origins such as https://portal.example.org, or * alone',
  })),
])('refuses $name', ({ env, problem }) => {
  expect(() => readConfig({ ...LEAST_ENVIRONMENT, ...env })).toThrow(problem);
});

test('names both timeouts that outlast a connection at once', () => {
  const env = { IDLE_TIMEOUT_MS: '60000' };
  expect(() => readConfig({ ...LEAST_ENVIRONMENT, ...env })).toThrow(
    /RPC_DEADLINE_MS × 12.*FILES_IDLE_MS \(/s,
  );
});

test('accepts timeouts that end before their connection', () => {
  const env = { RPC_DEADLINE_MS: '9999', FILES_IDLE_MS: '119999' };
  expect(() => readConfig({ ...LEAST_ENVIRONMENT, ...env })).not.toThrow();
});
