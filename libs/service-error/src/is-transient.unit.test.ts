import { describe, expect, test } from '@jest/globals';
import { isTransient } from './is-transient.ts';
import { ServiceError } from './service-error.ts';

const prismaError = (code: string, cause: object) =>
  Object.assign(new Error('raw query failed'), { code, meta: { driverAdapterError: { cause } } });

describe('a failure', () => {
  test.each<[string, unknown, boolean]>([
    ['a database that cannot be reached', prismaError('P2010', { kind: 'DatabaseNotReachable' }), true],
    ['a connection that an operator ended', prismaError('P2010', { originalCode: '57P01' }), true],
    ['a lock that was not given in time', prismaError('P2010', { originalCode: '55P03' }), true],
    ['a deadlock', { code: '40P01' }, true],
    ['a peer that refuses', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), true],
    ['a peer that is away, further down', new Error('x', { cause: { code: 'ECONNRESET' } }), true],
    ['a service that is away', new ServiceError('unavailable', 'x'), true],
    ['a connection that was not to be had', new Error('timeout exceeded when trying to connect'), true],
    ['a connection that is silent', new Error('Query read timeout'), true],
    ['a value that is there twice', prismaError('P2010', { originalCode: '23505' }), false],
    ['a defect', new TypeError('x is not a function'), false],
    ['nothing', undefined, false],
  ])('by %s', (_name, thrown, expected) => {
    expect(isTransient(thrown)).toBe(expected);
    expect(ServiceError.from(thrown).kind).toBe(expected ? 'unavailable' : 'internal');
  });

  test('that is circular is followed to a limited depth', () => {
    const error: { cause?: unknown } = {};
    error.cause = error;
    expect(isTransient(error)).toBe(false);
  });
});
