import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { errorAnswer } from './error-response.ts';
import { HttpProblem, methodNotAllowed, unknownUrl } from './http-problem.ts';

const INTERNAL =
  'The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application.';

/** As the wire shows it: the order of the keys is part of the shape. */
function answerTo(thrown: unknown) {
  const { status, headers, body } = errorAnswer(thrown);
  return { status, headers, body: JSON.stringify(body) };
}

describe('errors', () => {
  test.each<{ name: string; thrown: unknown; status: number; headers?: object; body: string }>([
    {
      name: 'an application error has its status first',
      thrown: new ServiceError('forbidden', 'Permission denied.'),
      status: 403,
      body: '{"status":403,"message":"Permission denied.","code":"forbidden"}',
    },
    {
      name: 'a validation error lists what is wrong, and names the entity where there are several',
      thrown: new ServiceError('not_publishable', 'A validation error occurred.', {
        issues: [
          { field: 'metadata.title', messages: ['Missing data for required field.'] },
          { field: 'files.enabled', messages: ['a', 'b'], record: 'e7vvn-90a62' },
        ],
      }),
      status: 400,
      body: '{"status":400,"message":"A validation error occurred.","code":"not_publishable","errors":[{"field":"metadata.title","messages":["Missing data for required field."]},{"field":"files.enabled","messages":["a","b"],"record":"e7vvn-90a62"}]}',
    },
    {
      name: 'missing credentials are challenged',
      thrown: new ServiceError('unauthenticated', 'Authentication required.'),
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      body: '{"status":401,"message":"Authentication required.","code":"unauthenticated"}',
    },
    {
      name: 'bad credentials are challenged with the reason',
      thrown: new ServiceError('unauthenticated', 'The access token is unknown.', { code: 'invalid_token' }),
      status: 401,
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
      body: '{"status":401,"message":"The access token is unknown.","code":"invalid_token"}',
    },
    {
      name: 'a lock has a Retry-After in whole seconds',
      thrown: new ServiceError('conflict', 'The draft is being published.', {
        code: 'draft_locked',
        retryAfterMs: 1_200,
      }),
      status: 409,
      headers: { 'retry-after': '2' },
      body: '{"status":409,"message":"The draft is being published.","code":"draft_locked"}',
    },
    {
      name: 'an unknown URL has its message first',
      thrown: unknownUrl(),
      status: 404,
      body: '{"message":"The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.","status":404,"code":"unknown_url"}',
    },
    {
      name: 'a path that cannot be decoded is an unknown URL',
      thrown: new URIError('Failed to decode param'),
      status: 404,
      body: '{"message":"The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.","status":404,"code":"unknown_url"}',
    },
    {
      name: 'an unknown method gets the allowed ones',
      thrown: methodNotAllowed(['OPTIONS', 'HEAD', 'GET']),
      status: 405,
      headers: { allow: 'OPTIONS, HEAD, GET' },
      body: '{"message":"The method is not allowed for the requested URL.","status":405,"code":"method_not_allowed"}',
    },
    {
      name: 'other refusals of HTTP have their status first',
      thrown: new HttpProblem(406, 'no'),
      status: 406,
      body: '{"status":406,"message":"no","code":"not_acceptable"}',
    },
    {
      name: 'an unexpected error shows no detail',
      thrown: new TypeError('x is not a function'),
      status: 500,
      body: `{"message":"${INTERNAL}","status":500,"code":"internal"}`,
    },
    {
      name: 'neither does an internal error of a service',
      thrown: new ServiceError('internal', 'relation "draft" does not exist'),
      status: 500,
      body: `{"message":"${INTERNAL}","status":500,"code":"internal"}`,
    },
  ])('$name', ({ thrown, status, headers = {}, body }) => {
    expect(answerTo(thrown)).toEqual({ status, headers, body });
  });
});
