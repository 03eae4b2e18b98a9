/** State of a participant in a publication; makes repeated and late calls harmless. */
export type ParticipantState = 'prepared' | 'refused' | 'aborted' | 'applied';

export interface Fence {
  state: ParticipantState;
  epoch: number;
}

/** Reaction to a request to prepare. */
export type PrepareAnswer = 'prepare' | 'yes' | 'no';

/**
 * A refusal applies to its epoch only; an earlier abort rejects a late prepare permanently. An agreement
 * stays valid, because the parts of a publication are prepared one after the other.
 *
 * @param isAgreed whether all requested drafts were agreed to
 */
export function onPrepare(fence: Fence | null, epoch: number, isAgreed: boolean): PrepareAnswer {
  if (fence === null) return 'prepare';
  switch (fence.state) {
    case 'prepared':
      return isAgreed ? 'yes' : 'prepare';
    case 'applied':
      return 'yes';
    case 'refused':
      return epoch > fence.epoch ? 'prepare' : 'no';
    case 'aborted':
      return 'no';
  }
}

/** Reaction to a decision; `impossible` means a broken protocol or a database restored from the past. */
export type DecideAnswer = 'apply' | 'drop' | 'done' | 'impossible';

export function onDecide(fence: Fence | null, isCommitted: boolean): DecideAnswer {
  if (isCommitted) {
    if (fence?.state === 'prepared') return 'apply';
    return fence?.state === 'applied' ? 'done' : 'impossible';
  }
  if (fence?.state === 'applied') return 'impossible';
  return fence?.state === 'aborted' ? 'done' : 'drop';
}
