/** How a participant stands in a publication: the fence that makes repeats and latecomers harmless. */
export type ParticipantState = 'prepared' | 'refused' | 'aborted' | 'applied';

export interface Fence {
  state: ParticipantState;
  epoch: number;
}

/** What to do about a request to prepare. */
export type PrepareAnswer = 'prepare' | 'yes' | 'no';

/**
 * A refusal is final for its epoch only; an abort that came first keeps a late prepare out for ever. What was agreed to
 * stays agreed to, whoever asks for more: parts of a publication are prepared one after the other.
 *
 * @param isAgreed whether everything that is asked for was agreed to
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

/** What to do about a decision; `impossible` ones mean a broken protocol or a database restored from the past. */
export type DecideAnswer = 'apply' | 'drop' | 'done' | 'impossible';

export function onDecide(fence: Fence | null, isCommitted: boolean): DecideAnswer {
  if (isCommitted) {
    if (fence?.state === 'prepared') return 'apply';
    return fence?.state === 'applied' ? 'done' : 'impossible';
  }
  if (fence?.state === 'applied') return 'impossible';
  return fence?.state === 'aborted' ? 'done' : 'drop';
}
