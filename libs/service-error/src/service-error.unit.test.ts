import { describe, expect, test } from '@jest/globals';
import { ERROR_KINDS, isErrorKind, ServiceError } from './index.ts';

describe('service error', () => {
  test('has the values that it was created with', () => {
    const cause = new Error('socket closed');
    const issues = [{ field: 'metadata.title', messages: ['Missing data for required field.'] }];
    const error = new ServiceError('conflict', 'Locked.', {
      issues,
      code: 'draft_locked',
      retryAfterMs: 1000,
      cause,
    });
    expect({ ...error, message: error.message, cause: error.cause, isError: error instanceof Error }).toEqual(
      {
        name: 'ServiceError',
        kind: 'conflict',
        message: 'Locked.',
        issues,
        code: 'draft_locked',
        retryAfterMs: 1000,
        cause,
        isError: true,
      },
    );
  });

  test.each([
    { thrown: new TypeError('select secret from table'), name: 'an unexpected error' },
    { thrown: 'text', name: 'a string' },
    { thrown: undefined, name: 'nothing' },
  ])('made from $name is internal and reveals nothing of it', ({ thrown }) => {
    const error = ServiceError.from(thrown);
    expect({ kind: error.kind, message: error.message, issues: error.issues, cause: error.cause }).toEqual({
      kind: 'internal',
      message: 'Internal server error.',
      issues: [],
      cause: thrown,
    });
  });

  test('created from a service error is that error', () => {
    const error = new ServiceError('forbidden', 'Permission denied.');
    expect(ServiceError.from(error)).toBe(error);
  });
});

describe('error kinds', () => {
  test('are recognised by name, inherited names are not', () => {
    const names = [...Object.keys(ERROR_KINDS), 'toString', '__proto__', '', 'lost'];
    expect(names.filter((name) => !isErrorKind(name))).toEqual(['toString', '__proto__', '', 'lost']);
  });

  test('have statuses of failures only', () => {
    const odd = Object.entries(ERROR_KINDS).filter(
      ([, { grpc, http }]) => grpc < 1 || grpc > 16 || http < 400 || http > 599,
    );
    expect(odd).toEqual([]);
  });
});
