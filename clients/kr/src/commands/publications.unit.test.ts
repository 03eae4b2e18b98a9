import { expect, test } from '@jest/globals';
import { nothingFound } from './publications.ts';

test.each([
  [['PREPARING'], true, 0, 'No publication is open: all are finished.'],
  [[], false, 0, 'There are no publications yet.'],
  [['DONE'], false, 0, 'No publication matches.'],
  [[], false, 1_000, 'No publication matches.'],
])(
  'an empty list of %j (open only: %j, older than %j ms) is explained',
  (states, isOpen, olderThan, text) => {
    expect(nothingFound(states, isOpen, olderThan)).toBe(text);
  },
);
