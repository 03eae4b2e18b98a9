import { errors } from '@elastic/elasticsearch';
import { expect, test } from '@jest/globals';
import { engineFailure } from './engine-failure.ts';

function answered(statusCode: number, type: string): Error {
  const body = { error: { type }, status: statusCode };
  return new errors.ResponseError({ statusCode, body, headers: {}, warnings: null, meta: {} as never });
}

test.each<[status: number, type: string]>([
  [404, 'index_not_found_exception'],
  [503, 'search_phase_execution_exception'],
  [429, 'search_phase_execution_exception'],
  [429, 'circuit_breaking_exception'],
  [503, 'cluster_block_exception'],
  [500, 'search_phase_execution_exception'],
])('%i %s makes the engine unavailable', (status, type) => {
  expect(engineFailure(answered(status, type))).toMatchObject({ kind: 'unavailable', retryAfterMs: 1_000 });
});
