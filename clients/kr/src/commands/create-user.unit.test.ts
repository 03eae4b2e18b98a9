import { describe, expect, test } from '@jest/globals';
import { explain } from './create-user.ts';

const failure = (message: string, more: object) => Object.assign(new Error(message), more);

describe('a user who was not made', () => {
  test.each([
    [
      'names what is wrong',
      failure('A validation error occurred.', {
        kind: 'invalid',
        issues: [{ field: 'name', messages: ['Use letters.'] }],
      }),
      'user a b was not made: Use letters.',
    ],
    [
      'has the message where no field is at fault',
      failure('Permission denied.', { kind: 'forbidden', issues: [] }),
      'user a b was not made: Permission denied.',
    ],
    [
      'asks whether the system runs',
      failure('away', { kind: 'unavailable', issues: [] }),
      'The system does not answer: is it running? `npm start` starts it.',
    ],
  ])('%s', (_name, error, text) => {
    expect(explain(error, 'a b')).toBe(text);
  });
});
