import { ServiceError } from '@kr/service-error';

/** A query that cannot be parsed, with the problem and, from 1, its position. */
export function syntaxError(problem: string, position: number): ServiceError {
  return queryError(problem, position, { code: 'query_syntax' });
}

/** A valid query that exceeds the cost limit of one request. */
export function tooComplex(problem: string, position: number): ServiceError {
  return queryError(problem, position, { code: 'query_too_complex' });
}

function queryError(problem: string, position: number, { code }: { code: string }): ServiceError {
  return new ServiceError('invalid', 'Invalid query string syntax.', {
    issues: [{ field: 'q', messages: [`${problem} at position ${position + 1}.`] }],
    code,
  });
}
