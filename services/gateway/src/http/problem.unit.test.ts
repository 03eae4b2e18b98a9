import { describe, expect, test } from '@jest/globals';
import { RELEASED_VOCABULARIES as vocabularies } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { chooseMediaType } from './accept.ts';
import { acceptsProblem, writtenError } from './error-response.ts';
import { unknownUrl } from './http-problem.ts';

const PROBLEM = 'application/problem+json';

describe('problem details', () => {
  test.each<[accept: string | undefined, isAccepted: boolean]>([
    [PROBLEM, true],
    [`application/json, ${PROBLEM}`, true],
    [`application/json;q=1.0,${PROBLEM};q=0.1`, true],
    [`Application/Problem+JSON; charset=utf-8`, true],
    [`${PROBLEM};q=0`, false],
    [`${PROBLEM};q=0.000, application/json`, false],
    [`${PROBLEM};q=0.001`, true],
    [`${PROBLEM}x`, false],
    ['application/*', false],
    ['*/*', false],
    ['application/json', false],
    ['', false],
    [undefined, false],
  ])('%s: %s', (accept, isAccepted) => {
    expect(acceptsProblem(accept)).toBe(isAccepted);
  });

  test('are no representation of a success, and do not prevent one', () => {
    expect([
      chooseMediaType(PROBLEM, 'entity'),
      chooseMediaType(`${PROBLEM};q=0.5`, 'json'),
      chooseMediaType(`application/json, ${PROBLEM}`, 'entity'),
      chooseMediaType(`${PROBLEM}, application/vnd.inveniordm.v1+json`, 'entity'),
    ]).toEqual([
      'application/json',
      'application/json',
      'application/json',
      'application/vnd.inveniordm.v1+json',
    ]);
    expect(() => chooseMediaType(`image/png, ${PROBLEM}`, 'entity')).toThrow("Invalid 'Accept' header.");
    expect(() => chooseMediaType(`${PROBLEM};q=0`, 'entity')).toThrow("Invalid 'Accept' header.");
  });

  test('have the members of the default format', () => {
    const error = new ServiceError('conflict', 'The draft is being published.', {
      code: 'draft_locked',
      issues: [{ field: 'id', messages: ['no'] }],
      retryAfterMs: 1_000,
    });
    const { status, headers, body } = writtenError(error, {
      accept: PROBLEM,
      requestId: 'a-b',
      vocabularies,
    });
    expect([status, headers, JSON.parse(Buffer.from(body).toString())]).toEqual([
      409,
      { 'retry-after': '1', 'content-type': PROBLEM },
      {
        type: 'about:blank',
        title: 'Conflict',
        status: 409,
        detail: 'The draft is being published.',
        instance: 'urn:request:a-b',
        code: 'draft_locked',
        errors: [{ field: 'id', messages: ['no'] }],
      },
    ]);
  });

  test.each<[unknown, string, number]>([
    [unknownUrl(), 'Not Found', 404],
    [new Error('secret'), 'Internal Server Error', 500],
  ])('are given for every failure', (thrown, title, status) => {
    const { body } = writtenError(thrown, { accept: PROBLEM, requestId: 'a-b', vocabularies });
    const text = Buffer.from(body).toString();
    expect(JSON.parse(text)).toMatchObject({ type: 'about:blank', title, status });
    expect(text).not.toContain('secret');
  });
});
