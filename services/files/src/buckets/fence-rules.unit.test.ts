import { describe, expect, test } from '@jest/globals';
import { type Fence, onDecide, onSeal } from './fence-rules.ts';

const nothing = undefined;
const fence = (state: Fence['state']): Fence => ({ state, epoch: 1 });

describe('the fence of a publication', () => {
  test.each([
    { former: nothing, verdict: 'attempt' },
    { former: fence('prepared'), verdict: 'yes' },
    { former: fence('applied'), verdict: 'yes' },
    { former: fence('aborted'), verdict: 'no' },
  ])('answers a seal after $former.state with $verdict', ({ former, verdict }) => {
    expect(onSeal(former)).toBe(verdict);
  });

  test.each([
    { former: nothing, isCommitted: true, verdict: 'adopt' },
    { former: nothing, isCommitted: false, verdict: 'remember' },
    { former: fence('prepared'), isCommitted: true, verdict: 'apply' },
    { former: fence('prepared'), isCommitted: false, verdict: 'undo' },
    { former: fence('applied'), isCommitted: true, verdict: 'done' },
    { former: fence('applied'), isCommitted: false, verdict: 'contradiction' },
    { former: fence('aborted'), isCommitted: true, verdict: 'contradiction' },
    { former: fence('aborted'), isCommitted: false, verdict: 'done' },
  ])('meets committed=$isCommitted after $former.state with $verdict', ({ former, isCommitted, verdict }) => {
    expect(onDecide(former, isCommitted)).toBe(verdict);
  });
});
