import { errors } from '@elastic/elasticsearch';
import { expect, test } from '@jest/globals';
import { engineFailure, isOfExchange } from './engine-failure.ts';

function answered(statusCode: number, type: string): Error {
  const body = { error: { type }, status: statusCode };
  return new errors.ResponseError({ statusCode, body, headers: {}, warnings: null, meta: {} as never });
}

test.each<[status: number, type: string, isAskedAgain: boolean]>([
  [404, 'index_not_found_exception', true],
  [503, 'search_phase_execution_exception', true],
  [429, 'search_phase_execution_exception', false],
  [429, 'circuit_breaking_exception', false],
  [503, 'cluster_block_exception', false],
  [500, 'search_phase_execution_exception', false],
])('%i %s is retried at once: %j', (status, type, isAskedAgain) => {
  const cause = answered(status, type);
  expect(isOfExchange(cause)).toBe(isAskedAgain);
  expect(engineFailure(cause)).toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
});
