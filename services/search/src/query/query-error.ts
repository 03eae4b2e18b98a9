import { ServiceError } from '@kr/service-error';

/** A query that cannot be parsed: says what is wrong and, from 1, at which character. */
export function syntaxError(problem: string, position: number): ServiceError {
  return queryError(problem, position, { code: 'query_syntax' });
}

/** A query that is well formed but asks for more than one request may cost. */
export function tooComplex(problem: string, position: number): ServiceError {
  return queryError(problem, position, { code: 'query_too_complex' });
}

function queryError(problem: string, position: number, { code }: { code: string }): ServiceError {
  return new ServiceError('invalid', 'Invalid query string syntax.', {
    issues: [{ field: 'q', messages: [`${problem} at position ${position + 1}.`] }],
    code,
  });
}
