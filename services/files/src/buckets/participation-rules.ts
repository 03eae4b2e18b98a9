/**
 * This service's side of a publication as a pure table: the effect of a seal or a decision, given the previous
 * answer. Messages may arrive twice, late, or in the wrong order.
 */
export type ParticipationState = 'prepared' | 'applied' | 'aborted';

export interface Participation {
  state: ParticipationState;
  /** The coordinator's epoch at the seal; 0 when there was none. */
  epoch: number;
}

/**
 * `attempt`: seal now and answer the result. An attempt that was blocked by another publication's seal is not stored:
 * the coordinator may try again as soon as that one is decided.
 */
export type SealVerdict = 'attempt' | 'yes' | 'no';

export function onSeal(participation: Participation | undefined): SealVerdict {
  switch (participation?.state) {
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
 * `apply` and `undo` change buckets, `remember` only prevents a late seal, `done` repeats an earlier answer.
 * `adopt`: committed, although the seal is unknown (a restored backup, or the participation has been deleted); the published files
 * must be immutable all the same. The records service reports a contradiction, because its staged forms are missing. `contradiction`: a decision has changed, which the protocol excludes.
 */
export type DecisionVerdict = 'apply' | 'undo' | 'remember' | 'adopt' | 'done' | 'contradiction';

export function onDecision(participation: Participation | undefined, isCommitted: boolean): DecisionVerdict {
  switch (participation?.state) {
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
