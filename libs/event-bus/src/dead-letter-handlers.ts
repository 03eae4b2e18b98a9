import type {
  DeadLetter,
  ListDeadLettersRequest__Output,
  ListDeadLettersResponse,
  ReplayDeadLettersRequest__Output,
  ReplayDeadLettersResponse,
} from '@kr/contracts';
import type { Sql } from '@kr/database';
import { isTransient, ServiceError } from '@kr/service-error';

import { reasonOf } from './dead-letter.ts';
import type { Consumer } from './start-consumer.ts';

export interface DeadLetterDeps {
  database: Sql;
  /** All consumers of the service. */
  consumers: readonly Pick<Consumer, 'durable' | 'replay'>[];
}

const LARGEST_LIST = 1_000;
const MOST_FAILURES = 100;
const PAGE = 100;
/** `id` is text here, so lists are ordered by `dead_letter.id`. */
const COLUMNS = 'id::text, consumer, event_id, subject, deliveries, reason, failed_at';

interface Row {
  id: string;
  consumer: string;
  event_id: string;
  subject: string;
  deliveries: number;
  reason: string;
  failed_at: Date;
}

interface StoredRow extends Row {
  payload: Uint8Array;
  headers: Readonly<Record<string, string>>;
}

/** The RPCs of DeadLettersService, for a service whose consumers share one database. */
export function deadLetterHandlers(deps: DeadLetterDeps) {
  return {
    /** @throws ServiceError `invalid`: a limit out of bounds, a position that is not an id */
    ListDeadLetters: async ({
      afterId,
      limit,
    }: ListDeadLettersRequest__Output): Promise<ListDeadLettersResponse> => {
      if (!/^\d{0,18}$/.test(afterId)) throw invalid('after_id', 'The id of a dead letter, a whole number.');
      if (limit < 1 || limit > LARGEST_LIST) throw invalid('limit', `From 1 to ${LARGEST_LIST}.`);
      const rows = await deps.database.$queryRawUnsafe<Row[]>(
        `select ${COLUMNS} from dead_letter where id > $1::bigint order by dead_letter.id limit $2::int`,
        afterId || '0',
        limit + 1,
      );
      return { deadLetters: rows.slice(0, limit).map(messageOf), hasMore: rows.length > limit };
    },
    /** @throws ServiceError `invalid`: too many ids; what a handler threw while something it needs is down */
    ReplayDeadLetters: async ({
      ids,
    }: ReplayDeadLettersRequest__Output): Promise<ReplayDeadLettersResponse> => {
      if (ids.length > LARGEST_LIST) throw invalid('ids', `At most ${LARGEST_LIST}.`);
      return replayDeadLetters(deps, ids.length === 0 ? 'all' : ids);
    },
  };
}

export type DeadLetterHandlers = ReturnType<typeof deadLetterHandlers>;

/** `all` means the dead letters present at the start. */
async function replayDeadLetters(
  deps: DeadLetterDeps,
  ids: readonly string[] | 'all',
): Promise<ReplayDeadLettersResponse> {
  const unknown = new Set(ids === 'all' ? [] : ids);
  const failures: DeadLetter[] = [];
  let replayed = 0;
  let failed = 0;
  const last = await lastId(deps);
  for (let afterId = '0'; ; ) {
    const page = await pageAfter(deps, afterId, last, ids);
    for (const row of page) {
      unknown.delete(row.id);
      const failure = await replay(deps, row);
      if (failure === undefined) replayed += 1;
      else {
        failed += 1;
        if (failed <= MOST_FAILURES) failures.push(messageOf(failure));
      }
    }
    const end = page.at(-1);
    if (end === undefined) return { replayed, failed, failures, unknownIds: [...unknown] };
    afterId = end.id;
  }
}

async function lastId({ database }: DeadLetterDeps): Promise<string> {
  const [row] = await database.$queryRawUnsafe<{ last: string }[]>(
    'select coalesce(max(id), 0)::text as last from dead_letter',
  );
  return row?.last ?? '0';
}

async function pageAfter(
  { database }: DeadLetterDeps,
  afterId: string,
  last: string,
  ids: readonly string[] | 'all',
): Promise<StoredRow[]> {
  return database.$queryRawUnsafe(
    `select ${COLUMNS}, payload, headers from dead_letter
     where id > $1::bigint and id <= $2::bigint and ($3::text[] is null or id::text = any ($3::text[]))
     order by dead_letter.id limit $4::int`,
    afterId,
    last,
    ids === 'all' ? null : [...ids],
    PAGE,
  );
}

/** Undefined when it was handled, else the row as it is stored now. */
async function replay(
  { database, consumers }: DeadLetterDeps,
  { payload, headers, ...row }: StoredRow,
): Promise<Row | undefined> {
  try {
    const consumer = consumers.find(({ durable }) => durable === row.consumer);
    if (consumer === undefined) throw new Error(`this release has no consumer ${row.consumer}`);
    await consumer.replay(row.subject, { data: payload, header: (name) => headers[name] ?? '' });
  } catch (error) {
    // The event is not to blame.
    if (isTransient(error)) throw error;
    const [stored] = await database.$queryRawUnsafe<Row[]>(
      `update dead_letter set deliveries = deliveries + 1, reason = $2, failed_at = clock_timestamp()
       where id = $1::bigint returning ${COLUMNS}`,
      row.id,
      reasonOf(error),
    );
    return stored ?? row;
  }
  await database.$executeRawUnsafe('delete from dead_letter where id = $1::bigint', row.id);
  return undefined;
}

function messageOf({ event_id: eventId, failed_at: failedAt, ...row }: Row): DeadLetter {
  return { ...row, eventId, failedAt: failedAt.toISOString() };
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'The request is not valid.', {
    issues: [{ field, messages: [message] }],
  });
}
