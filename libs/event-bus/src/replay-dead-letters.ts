import { type EventSubject, isEventSubject } from '@kr/contracts';
import { isTransient } from '@kr/service-error';
import type { SqlExecutor } from './append-events.ts';
import type { SqlQuerier } from './claim-events.ts';
import { reasonOf } from './dead-letter.ts';
import { decodeEvent, type ReceivedEvent } from './received-event.ts';

/** An event that its consumer gave up on. */
export interface DeadLetter {
  /** Decimal text; later ones have higher ones. */
  id: string;
  consumer: string;
  eventId: string;
  subject: string;
  /** How often it was tried. */
  deliveries: number;
  /** What the last try failed with. */
  reason: string;
  failedAt: Date;
}

/** Where dead letters are kept, and who tries them again. */
export interface ReplayOptions<Subject extends EventSubject> {
  /** The consumer that gave up on them. */
  durable: string;
  subjects: readonly Subject[];
  /** As of the consumer: it may see an event twice. */
  handleBatch: (events: ReceivedEvent<Subject>[]) => Promise<void>;
  database: SqlExecutor & SqlQuerier;
}

export interface ReplayReport {
  /** How many were handled, and are no dead letters any more. */
  replayed: number;
  /** Those that failed again, with the new reason. */
  failed: DeadLetter[];
  /** Of the ids asked for, those that are no dead letters of this consumer. */
  unknown: string[];
}

const PAGE = 100;
const COLUMNS = `id::text, consumer, event_id as "eventId", subject, deliveries, reason, failed_at as "failedAt"`;

/** The dead letters of a consumer, the oldest first, from behind an id (`0`: from the first). */
export async function listDeadLetters(
  database: SqlQuerier,
  consumer: string,
  { afterId = '0', limit }: { afterId?: string; limit: number },
): Promise<DeadLetter[]> {
  return database.$queryRawUnsafe(
    `select ${COLUMNS} from dead_letter where consumer = $1 and id > $2::bigint order by id limit $3::int`,
    consumer,
    afterId,
    limit,
  );
}

/**
 * Hands dead letters to their consumer's handler as if they were new, one by one, beside what the consumer itself does.
 * One that fails again stays, with the new reason.
 *
 * @param ids those to try, or `all` that there are when it begins
 * @throws what the handler threw while something it needs is away (`isTransient`); then nothing is blamed on the event
 */
export async function replayDeadLetters<Subject extends EventSubject>(
  options: ReplayOptions<Subject>,
  ids: readonly string[] | 'all',
): Promise<ReplayReport> {
  const report: ReplayReport = { replayed: 0, failed: [], unknown: [] };
  const known = ids === 'all' ? undefined : new Set(ids);
  const last = await lastOf(options);
  for (let afterId = '0'; ; ) {
    const page = await pageAfter(options, afterId, last, ids);
    for (const letter of page) {
      known?.delete(letter.id);
      const failure = await replay(letter, options);
      if (failure === undefined) report.replayed += 1;
      else report.failed.push(failure);
    }
    const end = page.at(-1);
    if (end === undefined) break;
    afterId = end.id;
  }
  report.unknown.push(...(known ?? []));
  return report;
}

interface KeptLetter extends DeadLetter {
  payload: Uint8Array;
  headers: Readonly<Record<string, string>>;
}

async function lastOf({ database, durable }: Pick<ReplayOptions<never>, 'database' | 'durable'>) {
  const [row] = await database.$queryRawUnsafe<{ last: string }[]>(
    'select coalesce(max(id), 0)::text as last from dead_letter where consumer = $1',
    durable,
  );
  return row?.last ?? '0';
}

async function pageAfter<Subject extends EventSubject>(
  { database, durable }: ReplayOptions<Subject>,
  afterId: string,
  last: string,
  ids: readonly string[] | 'all',
): Promise<KeptLetter[]> {
  return database.$queryRawUnsafe(
    `select ${COLUMNS}, payload, headers from dead_letter
     where consumer = $1 and id > $2::bigint and id <= $3::bigint and ($4::text[] is null or id::text = any ($4::text[]))
     order by id limit $5::int`,
    durable,
    afterId,
    last,
    ids === 'all' ? null : [...ids],
    PAGE,
  );
}

/** Undefined when it was handled, else the letter as it is kept now. */
async function replay<Subject extends EventSubject>(
  { payload, headers, ...letter }: KeptLetter,
  { database, handleBatch, subjects }: ReplayOptions<Subject>,
): Promise<DeadLetter | undefined> {
  const { id, subject } = letter;
  try {
    if (!isEventSubject(subject) || !isOneOf(subject, subjects))
      throw new Error(`no event of this consumer: ${subject}`);
    await handleBatch([decodeEvent(subject, { data: payload, header: (name) => headers[name] ?? '' })]);
  } catch (error) {
    if (isTransient(error)) throw error;
    const [kept] = await database.$queryRawUnsafe<DeadLetter[]>(
      `update dead_letter set deliveries = deliveries + 1, reason = $2, failed_at = clock_timestamp()
       where id = $1::bigint returning ${COLUMNS}`,
      id,
      reasonOf(error),
    );
    return kept ?? letter;
  }
  await database.$executeRawUnsafe('delete from dead_letter where id = $1::bigint', id);
  return undefined;
}

function isOneOf<Subject extends EventSubject>(
  subject: EventSubject,
  subjects: readonly Subject[],
): subject is Subject {
  return (subjects as readonly EventSubject[]).includes(subject);
}
