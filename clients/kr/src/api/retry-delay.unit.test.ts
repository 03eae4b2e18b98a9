import { describe, expect, test } from '@jest/globals';
import { retryDelayMs, type Setback } from './retry-delay.ts';

const now = (): number => Date.parse('2026-11-21T09:00:00Z');
const lost: Setback = { status: undefined, isSent: true };
const refused: Setback = { status: undefined, isSent: false };
const answered = (status: number, retryAfter?: string): Setback => ({ status, retryAfter });

describe('a request is sent again', () => {
  test.each<{
    name: string;
    setback: Setback;
    attempt?: number;
    isRepeatable?: boolean;
    waitMs: number | undefined;
  }>([
    { name: 'soon, when its answer was lost', setback: lost, waitMs: 250 },
    { name: 'later each time', setback: lost, attempt: 4, waitMs: 2_000 },
    { name: 'never, after the last attempt', setback: lost, attempt: 6, waitMs: undefined },
    {
      name: 'never, when it may have been done and must not be twice',
      setback: lost,
      isRepeatable: false,
      waitMs: undefined,
    },
    { name: 'in any case, when it did not get there', setback: refused, isRepeatable: false, waitMs: 250 },
    {
      name: 'after the seconds in a busy service’s answer',
      setback: answered(429, '7'),
      isRepeatable: false,
      waitMs: 7_000,
    },
    {
      name: 'at the date in its answer',
      setback: answered(503, 'Sat, 21 Nov 2026 09:00:03 GMT'),
      waitMs: 3_000,
    },
    { name: 'a little later than at once', setback: answered(503, '0'), waitMs: 250 },
    { name: 'by its own measure, when none is given', setback: answered(503), attempt: 2, waitMs: 500 },
    { name: 'by its own measure, when it is not understood', setback: answered(503, 'soon'), waitMs: 250 },
    { name: 'never, when it would take too long', setback: answered(429, '3600'), waitMs: undefined },
    { name: 'never, when it was refused', setback: answered(400), waitMs: undefined },
    { name: 'never, when the service failed', setback: answered(500), waitMs: undefined },
  ])('$name', ({ setback, attempt = 1, isRepeatable = true, waitMs }) => {
    expect(retryDelayMs(setback, { attempt, isRepeatable, now })).toBe(waitMs);
  });
});
