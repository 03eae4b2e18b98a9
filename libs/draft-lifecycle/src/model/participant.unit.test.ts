import { describe, expect, test } from '@jest/globals';
import {
  type DecideAnswer,
  type Fence,
  onDecide,
  onPrepare,
  type ParticipantState,
  type PrepareAnswer,
} from './publication.ts';

const fence = (state: ParticipantState): Fence => ({ state, epoch: 2 });

describe('the fence of a publication', () => {
  type Prepared = PrepareAnswer;
  test.each<[string, Fence | null, Prepared, Prepared, Prepared, Prepared, DecideAnswer, DecideAnswer]>([
    ['none', null, 'prepare', 'prepare', 'prepare', 'prepare', 'impossible', 'drop'],
    ['prepared', fence('prepared'), 'yes', 'yes', 'yes', 'prepare', 'apply', 'drop'],
    ['refused', fence('refused'), 'no', 'no', 'prepare', 'no', 'impossible', 'drop'],
    ['aborted', fence('aborted'), 'no', 'no', 'no', 'no', 'impossible', 'done'],
    ['applied', fence('applied'), 'yes', 'yes', 'yes', 'yes', 'done', 'impossible'],
  ])('%s', (_state, former, older, same, newer, more, committed, aborted) => {
    expect({
      older: onPrepare(former, 1, true),
      same: onPrepare(former, 2, true),
      newer: onPrepare(former, 3, true),
      more: onPrepare(former, 2, false),
      committed: onDecide(former, true),
      aborted: onDecide(former, false),
    }).toEqual({ older, same, newer, more, committed, aborted });
  });
});
