import { ServiceError } from '@kr/service-error';
import type { Logger } from '@kr/telemetry';
import { HttpProblem } from '../http/http-problem.ts';
import type { KeyedRequest } from './idempotency-key.ts';
import { isFinal, type KeyStore, LEASE_MS, type StoredResponse } from './key-store.ts';

export interface ExecuteOnceDeps {
  keys: KeyStore;
  logger: Logger;
  newId: () => string;
}

export interface IdempotentResult {
  answer: StoredResponse;
  /** Whether the stored answer was returned, and nothing was executed. */
  isReplayed: boolean;
}

export type ExecuteOnce = (
  request: KeyedRequest,
  execute: () => Promise<StoredResponse>,
) => Promise<IdempotentResult>;

/**
 * Executes a keyed request, or returns its stored answer. The key is leased before the execution, and the answer
 * stored before it is sent.
 * @throws ServiceError - `unprocessable` (`idempotency_key_reused`): the key was used for another request -
 * `conflict` (`idempotency_key_in_use`): it is being executed - `conflict` (`idempotency_answer_lost`): it was executed, but the answer
 * can no longer be decrypted
 * @throws HttpProblem 409 (`idempotency_answer_not_stored`): it was executed, but the answer is not stored
 */
export function executeOnce({ keys, logger, newId }: ExecuteOnceDeps): ExecuteOnce {
  return async (request, execute) => {
    const attempt = newId();
    const claim = await keys.claim(request, attempt);
    if (claim.is === 'another') throw reused();
    if (claim.is === 'running') throw inUse();
    if (claim.is === 'lost') throw lost();
    if (claim.is === 'not_stored') throw notStored(claim);
    if (claim.is === 'answered') return { answer: claim.answer, isReplayed: true };

    // The answer is sent even when it cannot be stored: the key is free again when its lease ends.
    const logFailure = (update: Promise<void>) =>
      update.catch((err: unknown) => logger.warn({ err }, 'idempotency key not updated'));
    const heartbeat = setInterval(() => void logFailure(keys.renew(request, attempt)), LEASE_MS / 3);
    try {
      const answer = await execute();
      await logFailure(
        isFinal(answer) ? keys.store(request, attempt, answer) : keys.release(request, attempt),
      );
      return { answer, isReplayed: false };
    } catch (thrown) {
      await logFailure(keys.release(request, attempt));
      throw thrown;
    } finally {
      clearInterval(heartbeat);
    }
  };
}

function reused(): ServiceError {
  return new ServiceError('unprocessable', 'This idempotency key was used for another request.', {
    code: 'idempotency_key_reused',
  });
}

function inUse(): ServiceError {
  return new ServiceError('conflict', 'The request with this idempotency key is still being executed.', {
    code: 'idempotency_key_in_use',
    retryAfterMs: 1_000,
  });
}

function lost(): ServiceError {
  return new ServiceError(
    'conflict',
    'The request with this idempotency key was executed; its answer cannot be read any more.',
    { code: 'idempotency_answer_lost' },
  );
}

function notStored({ status, location }: { status: number; location: string | undefined }): HttpProblem {
  return new HttpProblem(
    409,
    `The request with this idempotency key was executed and answered ${status}. The answer is not stored; read the resource instead.`,
    location === undefined ? {} : { location },
    { code: 'idempotency_answer_not_stored' },
  );
}
