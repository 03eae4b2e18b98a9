import type {
  DeadLetter as DeadLetterMessage,
  ListDeadLettersRequest__Output,
  ListDeadLettersResponse,
  ReplayDeadLettersRequest__Output,
  ReplayDeadLettersResponse,
} from '@kr/contracts';
import { type DeadLetter, listDeadLetters, type ReplayOptions, replayDeadLetters } from '@kr/event-bus';
import { ServiceError } from '@kr/service-error';
import type { INDEXED_SUBJECTS } from '../consume/plan-fetches.ts';

export type Replayed = ReplayOptions<(typeof INDEXED_SUBJECTS)[number]>;

const LARGEST_LIST = 1_000;
const MOST_FAILURES = 100;

/** SearchService.ListDeadLetters. @throws ServiceError `invalid`: a limit out of bounds, a position that is no id */
export async function listIndexDeadLetters(
  { database, durable }: Replayed,
  { afterId, limit }: ListDeadLettersRequest__Output,
): Promise<ListDeadLettersResponse> {
  if (!/^\d{0,18}$/.test(afterId)) throw invalid('after_id', 'The id of a dead letter, a whole number.');
  if (limit < 1 || limit > LARGEST_LIST) throw invalid('limit', `From 1 to ${LARGEST_LIST}.`);
  const letters = await listDeadLetters(database, durable, { afterId: afterId || '0', limit: limit + 1 });
  return { deadLetters: letters.slice(0, limit).map(messageOf), hasMore: letters.length > limit };
}

/** SearchService.ReplayDeadLetters. @throws ServiceError `invalid`: too many ids; `unavailable`: a service is away */
export async function replayIndexDeadLetters(
  replayed: Replayed,
  { ids }: ReplayDeadLettersRequest__Output,
): Promise<ReplayDeadLettersResponse> {
  if (ids.length > LARGEST_LIST) throw invalid('ids', `At most ${LARGEST_LIST}.`);
  const report = await replayDeadLetters(replayed, ids.length === 0 ? 'all' : ids);
  return {
    replayed: report.replayed,
    failed: report.failed.length,
    failures: report.failed.slice(0, MOST_FAILURES).map(messageOf),
    unknownIds: report.unknown,
  };
}

function messageOf({ id, eventId, subject, deliveries, reason, failedAt }: DeadLetter): DeadLetterMessage {
  return { id, eventId, subject, deliveries, reason, failedAt: failedAt.toISOString() };
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'The request is not valid.', {
    issues: [{ field, messages: [message] }],
  });
}
