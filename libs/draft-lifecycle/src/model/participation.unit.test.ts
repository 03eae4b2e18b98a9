import { describe, expect, test } from '@jest/globals';
import {
  type DecisionVerdict,
  onDecision,
  onPrepare,
  type Participation,
  type ParticipationState,
  type PrepareVerdict,
} from './publication.ts';

const participation = (state: ParticipationState): Participation => ({ state, epoch: 2 });

describe('the participation of a publication', () => {
  type Prepared = PrepareVerdict;
  test.each<
    [string, Participation | null, Prepared, Prepared, Prepared, Prepared, DecisionVerdict, DecisionVerdict]
  >([
    ['none', null, 'prepare', 'prepare', 'prepare', 'prepare', 'contradiction', 'undo'],
    ['prepared', participation('prepared'), 'yes', 'yes', 'yes', 'prepare', 'apply', 'undo'],
    ['refused', participation('refused'), 'no', 'no', 'prepare', 'no', 'contradiction', 'undo'],
    ['aborted', participation('aborted'), 'no', 'no', 'no', 'no', 'contradiction', 'done'],
    ['applied', participation('applied'), 'yes', 'yes', 'yes', 'yes', 'done', 'contradiction'],
  ])('%s', (_state, former, older, same, newer, more, committed, aborted) => {
    expect({
      older: onPrepare(former, 1, true),
      same: onPrepare(former, 2, true),
      newer: onPrepare(former, 3, true),
      more: onPrepare(former, 2, false),
      committed: onDecision(former, true),
      aborted: onDecision(former, false),
    }).toEqual({ older, same, newer, more, committed, aborted });
  });
});
