import { describe, expect, test } from '@jest/globals';
import {
  type DecideAnswer,
  type Fence,
  onDecide,
  onPrepare,
  type ParticipantState,
  type PrepareAnswer,
} from './participant-rules.ts';

const fence = (state: ParticipantState): Fence => ({ state, epoch: 2 });

describe('the fence of a publication', () => {
  test.each<[string, Fence | null, PrepareAnswer, PrepareAnswer, PrepareAnswer, DecideAnswer, DecideAnswer]>([
    ['none', null, 'prepare', 'prepare', 'prepare', 'impossible', 'drop'],
    ['prepared', fence('prepared'), 'yes', 'yes', 'yes', 'apply', 'drop'],
    ['refused', fence('refused'), 'no', 'no', 'prepare', 'impossible', 'drop'],
    ['aborted', fence('aborted'), 'no', 'no', 'no', 'impossible', 'done'],
    ['applied', fence('applied'), 'yes', 'yes', 'yes', 'done', 'impossible'],
  ])('%s', (_state, former, older, same, newer, committed, aborted) => {
    expect({
      older: onPrepare(former, 1),
      same: onPrepare(former, 2),
      newer: onPrepare(former, 3),
      committed: onDecide(former, true),
      aborted: onDecide(former, false),
    }).toEqual({ older, same, newer, committed, aborted });
  });
});
