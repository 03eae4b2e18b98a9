import type {
  DeadLetter,
  ListDeadLettersRequest__Output,
  ListDeadLettersResponse,
  ReplayDeadLettersRequest__Output,
  ReplayDeadLettersResponse,
} from '@kr/contracts';
import type { Sql } from '@kr/database';
import { isTransient, ServiceError } from '@kr/service-error';
import type { JsMsg } from '@nats-io/jetstream';
import { type EncodedEvent, eventIdOf } from './cloud-event.ts';

const INSERT = `
  insert into dead_letter (consumer, event_id, subject, payload, headers, deliveries, reason)
  values ($1, $2, $3, decode($4, 'base64'), $5::jsonb, $6::int, $7)
  on conflict (consumer, event_id)
    do update set deliveries = excluded.deliveries, reason = excluded.reason, failed_at = excluded.failed_at`;

/** Stores a message that its consumer failed to handle. */
export async function insertDeadLetter(
  database: Sql,
  consumer: string,
  message: JsMsg,
  reason: string,
): Promise<void> {
  const headers = Object.fromEntries(
    (message.headers?.keys() ?? []).map((name) => [
      storable(name),
      storable(message.headers?.get(name) ?? ''),
    ]),
  );
  await database.$executeRawUnsafe(
    INSERT,
    consumer,
    eventIdOf(message),
    message.subject,
    Buffer.from(message.data).toString('base64'),
    JSON.stringify(headers),
    message.info.deliveryCount,
    reason,
  );
}

/** The stored description of a failure. */
export function reasonOf(error: unknown): string {
  return storable((error instanceof Error ? error.message : String(error)).slice(0, 2_000));
}

/** Postgres stores no null characters in texts. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

interface DeadLetterDeps {
  database: Sql;
  /** All consumers of the service. */
  consumers: readonly { durable: string; replay(subject: string, stored: EncodedEvent): Promise<void> }[];
}

/** The maximum of listed dead letters, and of ids to replay. */
const MAX_LIST = 1_000;
const MAX_FAILURES = 100;
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
      if (limit < 1 || limit > MAX_LIST) throw invalid('limit', `From 1 to ${MAX_LIST}.`);
      const rows = await deps.database.$queryRawUnsafe<Row[]>(
        `select ${COLUMNS} from dead_letter where id > $1::bigint order by dead_letter.id limit $2::int`,
        afterId || '0',
        limit + 1,
      );
      return { deadLetters: rows.slice(0, limit).map(messageOf), hasMore: rows.length > limit };
    },
    /**
     * Without ids it replays all dead letters that are present at the start.
     *
     * @throws ServiceError `invalid`: too many ids; the error of a handler whose dependency is down
     */
    ReplayDeadLetters: async ({
      ids,
    }: ReplayDeadLettersRequest__Output): Promise<ReplayDeadLettersResponse> => {
      if (ids.length > MAX_LIST) throw invalid('ids', `At most ${MAX_LIST}.`);
      const unknown = new Set(ids);
      const failures: DeadLetter[] = [];
      let replayed = 0;
      let failed = 0;
      for await (const row of storedRows(deps.database, ids)) {
        unknown.delete(row.id);
        const failure = await replay(deps, row);
        if (failure === undefined) replayed += 1;
        else failed += 1;
        if (failure !== undefined && failed <= MAX_FAILURES) failures.push(messageOf(failure));
      }
      return { replayed, failed, failures, unknownIds: [...unknown] };
    },
  };
}

async function* storedRows(database: Sql, ids: readonly string[]): AsyncGenerator<StoredRow> {
  const [newest] = await database.$queryRawUnsafe<{ id: string | null }[]>(
    'select max(id)::text as id from dead_letter',
  );
  for (let afterId: string | undefined = '0'; afterId !== undefined; ) {
    const page: StoredRow[] = await database.$queryRawUnsafe<StoredRow[]>(
      `select ${COLUMNS}, payload, headers from dead_letter
       where id > $1::bigint and id <= $2::bigint and (cardinality($3::text[]) = 0 or id::text = any ($3::text[]))
       order by dead_letter.id limit $4::int`,
      afterId,
      newest?.id ?? '0',
      [...ids],
      PAGE,
    );
    yield* page;
    afterId = page.at(-1)?.id;
  }
}

/** Undefined when it was handled, else the stored row. */
async function replay(
  { database, consumers }: DeadLetterDeps,
  { payload, headers, ...row }: StoredRow,
): Promise<Row | undefined> {
  try {
    const consumer = consumers.find(({ durable }) => durable === row.consumer);
    if (consumer === undefined) throw new Error(`this release has no consumer ${row.consumer}`);
    await consumer.replay(row.subject, { data: payload, header: (name) => headers[name] ?? '' });
  } catch (error) {
    // A dependency is down; the event did not fail.
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
