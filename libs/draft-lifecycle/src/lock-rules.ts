import { ServiceError } from '@kr/service-error';

/** The one guard of every way into a draft: while a publication holds it, nothing may change it. */
export function assertUnlocked(draft: { lockedBy: string | null }): void {
  if (draft.lockedBy !== null) throw draftLocked();
}

export function draftLocked(): ServiceError {
  return new ServiceError('conflict', 'The draft is being published.', {
    code: 'draft_locked',
    retryAfterMs: 1_000,
  });
}
