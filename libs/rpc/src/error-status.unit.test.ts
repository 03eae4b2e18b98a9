import { randomBytes } from 'node:crypto';
import { Metadata } from '@grpc/grpc-js';
import { describe, expect, test } from '@jest/globals';
import { ERROR_KINDS, type ErrorKind, type Issue, ServiceError } from '@kr/service-error';
import { fromStatus, toStatus } from './error-status.ts';

/** The thrown error as the caller receives it. */
function across(thrown: unknown): ServiceError {
  const { code = 0, details = '', metadata = new Metadata() } = toStatus(thrown);
  return fromStatus(Object.assign(new Error(details), { code, details, metadata }));
}

function failure(code: number): ServiceError {
  return fromStatus(Object.assign(new Error('x'), { code, details: 'x', metadata: new Metadata() }));
}

describe('an error across the wire', () => {
  test.each(Object.keys(ERROR_KINDS) as ErrorKind[])('keeps its kind %s', (kind) => {
    expect(across(new ServiceError(kind, 'm')).kind).toBe(kind);
  });

  test('preserves an empty list of issues, a missing code and a missing retry time', () => {
    const { issues, code, retryAfterMs } = across(new ServiceError('invalid', 'm'));
    expect({ issues, code, retryAfterMs }).toEqual({ issues: [], code: undefined, retryAfterMs: undefined });
  });

  test('loses the last issues rather than all when there are too many to send', () => {
    const issues = Array.from(
      { length: 4_000 },
      (): Issue => ({ field: randomBytes(40).toString('hex'), messages: [] }),
    );
    const received = across(new ServiceError('invalid', 'm', { issues, code: 'c' }));
    expect(received).toMatchObject({
      kind: 'invalid',
      code: 'c',
      issues: issues.slice(0, received.issues.length),
    });
    expect(received.issues.length).toBeGreaterThan(400);
  });

  test.each([
    { name: 'no peer', code: 14, kind: 'unavailable' },
    { name: 'no answer in time', code: 4, kind: 'unavailable' },
    { name: 'cancelled', code: 1, kind: 'unavailable' },
    { name: 'an RPC that is not served', code: 12, kind: 'internal' },
    { name: 'a message that is too large', code: 8, kind: 'internal' },
  ])('$name without detail is $kind', ({ code, kind }) => {
    expect(failure(code).kind).toBe(kind);
  });
});

test('a message that is too large is truncated; revision and cost are preserved', () => {
  const message = randomBytes(100_000).toString('base64');
  const sent = new ServiceError('precondition_failed', message, { currentRevision: 7, usedMs: 250 });
  const received = across(sent);
  const { kind, currentRevision, usedMs } = received;
  expect({ kind, currentRevision, usedMs }).toEqual({
    kind: 'precondition_failed',
    currentRevision: 7,
    usedMs: 250,
  });
  expect(message.startsWith(received.message)).toBe(true);
});
