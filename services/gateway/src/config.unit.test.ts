import { expect, test } from '@jest/globals';
import { readConfig } from './config.ts';
import { LEAST_ENVIRONMENT } from './least-environment-fixture.ts';

test('limits the rate of requests where nothing is said', () => {
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
    name: 'a rate that no publish would keep to',
    env: { RATE_LIMIT_USER: '4' },
    problem: 'RATE_LIMIT_USER times RATE_LIMIT_BURST_MINUTES is less than one request may weigh, which is 10',
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
  expect(() => readConfig({ ...LEAST_ENVIRONMENT, ...env })).toThrow(problem);
});
