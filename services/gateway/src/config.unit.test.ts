import { expect, test } from '@jest/globals';
import { PUBLISH_TIMEOUT_FACTOR, readConfig } from './config.ts';
import { MINIMAL_ENVIRONMENT } from './minimal-environment-fixture.ts';

test('limits the rate of requests by default', () => {
  expect(readConfig(MINIMAL_ENVIRONMENT).rateLimit).toEqual({
    anonymousPerMinute: 500,
    userPerMinute: 1_000,
    failedCredentialsPerMinute: 60,
    burstMinutes: 2,
    costs: { search: 5, publish: 10, auditLog: 5 },
  });
});

test.each([
  {
    name: 'a rate below one publication',
    env: { RATE_LIMIT_USER: '4' },
    problem: 'RATE_LIMIT_USER is less than 5, the cost of one request; 0 = unlimited',
  },
  {
    name: 'a rate that is none',
    env: { RATE_LIMIT_ANONYMOUS: '-1' },
    problem: 'RATE_LIMIT_ANONYMOUS is not a whole number from 0 to 1000000',
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
  expect(() => readConfig({ ...MINIMAL_ENVIRONMENT, ...env })).toThrow(problem);
});

test('calls and transfers time out before the connection of their client', () => {
  const { rpcDeadlineMs, limits } = readConfig(MINIMAL_ENVIRONMENT);
  expect(rpcDeadlineMs * PUBLISH_TIMEOUT_FACTOR).toBeLessThan(limits.idleTimeoutMs);
  expect(limits.filesIdleMs).toBeLessThan(limits.idleTimeoutMs);
});
