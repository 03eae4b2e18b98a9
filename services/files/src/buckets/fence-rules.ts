/**
 * This service's side of a publication as a pure table: what a seal or a decision means, given what was answered
 * before. Publications may be told twice, late, or in the wrong order.
 */
export type FenceState = 'prepared' | 'applied' | 'aborted';

export interface Fence {
  state: FenceState;
  /** The coordinator's epoch at the seal; 0 when there was none. */
  epoch: number;
}

/**
 * `attempt`: seal now and answer what comes of it. An attempt that met another publication's seal is not remembered:
 * the coordinator may try again as soon as that one is decided.
 */
export type SealVerdict = 'attempt' | 'yes' | 'no';

export function onSeal(fence: Fence | undefined): SealVerdict {
  switch (fence?.state) {
    case undefined:
      return 'attempt';
    case 'prepared':
    case 'applied':
      return 'yes';
    case 'aborted':
      return 'no';
  }
}

/**
 * `apply` and `undo` change buckets, `remember` only bars a seal that comes late, `done` repeats an earlier answer.
 * `adopt`: committed, though no seal is known (a restored backup, or the fence has been forgotten); what was published
 * must be immutable all the same. `contradiction`: a decision has flipped, which the protocol rules out.
 */
export type DecideVerdict = 'apply' | 'undo' | 'remember' | 'adopt' | 'done' | 'contradiction';

export function onDecide(fence: Fence | undefined, isCommitted: boolean): DecideVerdict {
  switch (fence?.state) {
    case undefined:
      return isCommitted ? 'adopt' : 'remember';
    case 'prepared':
      return isCommitted ? 'apply' : 'undo';
    case 'applied':
      return isCommitted ? 'done' : 'contradiction';
    case 'aborted':
      return isCommitted ? 'contradiction' : 'done';
  }
}
