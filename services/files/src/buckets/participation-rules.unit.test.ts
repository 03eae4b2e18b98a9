import { describe, expect, test } from '@jest/globals';
import { onDecision, onSeal, type Participation } from './participation-rules.ts';

const nothing = undefined;
const participation = (state: Participation['state']): Participation => ({ state, epoch: 1 });

describe('the participation of a publication', () => {
  test.each([
    { former: nothing, verdict: 'attempt' },
    { former: participation('prepared'), verdict: 'yes' },
    { former: participation('applied'), verdict: 'yes' },
    { former: participation('aborted'), verdict: 'no' },
  ])('answers a seal after $former.state with $verdict', ({ former, verdict }) => {
    expect(onSeal(former)).toBe(verdict);
  });

  test.each([
    { former: nothing, isCommitted: true, verdict: 'adopt' },
    { former: nothing, isCommitted: false, verdict: 'remember' },
    { former: participation('prepared'), isCommitted: true, verdict: 'apply' },
    { former: participation('prepared'), isCommitted: false, verdict: 'undo' },
    { former: participation('applied'), isCommitted: true, verdict: 'done' },
    { former: participation('applied'), isCommitted: false, verdict: 'contradiction' },
    { former: participation('aborted'), isCommitted: true, verdict: 'contradiction' },
    { former: participation('aborted'), isCommitted: false, verdict: 'done' },
  ])('meets committed=$isCommitted after $former.state with $verdict', ({ former, isCommitted, verdict }) => {
    expect(onDecision(former, isCommitted)).toBe(verdict);
  });
});
