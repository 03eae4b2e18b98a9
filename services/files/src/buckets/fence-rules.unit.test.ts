import { describe, expect, test } from '@jest/globals';
import { type Fence, onDecide, onSeal } from './fence-rules.ts';

const nothing = undefined;
const fence = (state: Fence['state']): Fence => ({ state, epoch: 1 });

describe('the fence of a publication', () => {
  test.each([
    { told: nothing, verdict: 'attempt' },
    { told: fence('prepared'), verdict: 'yes' },
    { told: fence('applied'), verdict: 'yes' },
    { told: fence('aborted'), verdict: 'no' },
  ])('answers a seal after $told.state with $verdict', ({ told, verdict }) => {
    expect(onSeal(told)).toBe(verdict);
  });

  test.each([
    { told: nothing, isCommitted: true, verdict: 'adopt' },
    { told: nothing, isCommitted: false, verdict: 'remember' },
    { told: fence('prepared'), isCommitted: true, verdict: 'apply' },
    { told: fence('prepared'), isCommitted: false, verdict: 'undo' },
    { told: fence('applied'), isCommitted: true, verdict: 'done' },
    { told: fence('applied'), isCommitted: false, verdict: 'contradiction' },
    { told: fence('aborted'), isCommitted: true, verdict: 'contradiction' },
    { told: fence('aborted'), isCommitted: false, verdict: 'done' },
  ])('meets committed=$isCommitted after $told.state with $verdict', ({ told, isCommitted, verdict }) => {
    expect(onDecide(told, isCommitted)).toBe(verdict);
  });
});
