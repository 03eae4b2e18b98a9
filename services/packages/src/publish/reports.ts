import type { Principal } from '@kr/caller';
import type {
  ListPublicationsRequest__Output,
  ListPublicationsResponse,
  PublicationSummary,
  ReadPublicationRequest__Output,
  ReadPublicationResponse,
} from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { validate as isUuid } from 'uuid';
import type { PackagesContext } from '../context.ts';
import { PUBLICATION_STATES, type Publication, type Refusal } from './publication.ts';
import { PUBLICATION_COLUMNS } from './publication-store.ts';

/** A publication with all its columns. */
interface PublicationReport extends Publication {
  readonly snapshot: unknown;
  readonly finishedAt: Date | null;
}

const REPORT_COLUMNS = `${PUBLICATION_COLUMNS}, snapshot, finished_at as "finishedAt"`;

interface PublicationFilter {
  /** None: any. */
  readonly states: readonly string[];
  readonly createdBefore: Date;
  readonly limit: number;
}

/** The youngest first: ids of publications grow with time. */
async function listReports(
  sql: Sql,
  { states, createdBefore, limit }: PublicationFilter,
): Promise<PublicationReport[]> {
  return sql.$queryRawUnsafe(
    `select ${REPORT_COLUMNS} from publication
     where created_at <= $1::timestamptz and (cardinality($2::text[]) = 0 or state = any($2::text[]))
     order by id desc limit $3::int`,
    createdBefore.toISOString(),
    states,
    limit,
  );
}

async function readReport(sql: Sql, id: string): Promise<PublicationReport | undefined> {
  const [row] = await sql.$queryRawUnsafe<PublicationReport[]>(
    `select ${REPORT_COLUMNS} from publication where id = $1::uuid`,
    id,
  );
  return row;
}

/** @throws ServiceError `forbidden`: the caller is neither a service nor an administrator */
function assertOperator({ isAdmin, service }: Principal): void {
  if (!isAdmin && service === null) throw new ServiceError('forbidden', 'Permission denied.');
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** A year; publications are deleted long before. */
const MAX_AGE_MS = 31_536_000_000;

/**
 * RPC ListPublications.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `invalid`: no such state, a limit beyond 1000, or an age that is negative or beyond a year
 */
export function listPublications({ database, now }: Pick<PackagesContext, 'database' | 'now'>) {
  return async (
    { states, olderThanMs, limit }: ListPublicationsRequest__Output,
    { principal }: CallContext,
  ): Promise<ListPublicationsResponse> => {
    assertOperator(principal);
    checkStates(states);
    if (limit < 0 || limit > MAX_LIMIT) throw invalid('limit', `At most ${MAX_LIMIT}.`);
    const ageMs = Number(olderThanMs);
    if (ageMs < 0 || ageMs > MAX_AGE_MS) throw invalid('older_than_ms', `From 0 to ${MAX_AGE_MS}.`);
    const at = now();
    const size = limit === 0 ? DEFAULT_LIMIT : limit;
    const reports = await listReports(database, {
      states,
      createdBefore: new Date(at.getTime() - ageMs),
      limit: size + 1,
    });
    return {
      publications: reports.slice(0, size).map((report) => summaryOf(report, at)),
      hasMore: reports.length > size,
    };
  };
}

function summaryOf(report: PublicationReport, at: Date): PublicationSummary {
  const { id, subject, entityId, state, epoch, createdAt, participants, applied, requestedBy } = report;
  return {
    id,
    subject: subject === 'package' ? 'SUBJECT_PACKAGE' : 'SUBJECT_RECORD',
    entityId,
    state,
    epoch,
    createdAt: createdAt.toISOString(),
    ageMs: at.getTime() - createdAt.getTime(),
    participants: participants.map((name) => ({ name, hasApplied: applied.includes(name) })),
    requestedBy,
    resources: report.resourceIds.length,
  };
}

function checkStates(states: readonly string[]): void {
  const valid: readonly string[] = PUBLICATION_STATES;
  if (!states.every((state) => valid.includes(state)))
    throw invalid('states', `Must be one of: ${valid.join(', ')}.`);
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}

/**
 * RPC ReadPublication.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is neither a service nor an operator
 *   - `not_found`: there is no such publication, or not any more
 */
export function readPublication({ database, now }: Pick<PackagesContext, 'database' | 'now'>) {
  return async (
    { id }: ReadPublicationRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadPublicationResponse> => {
    assertOperator(principal);
    const report = isUuid(id) ? await readReport(database, id) : undefined;
    if (report === undefined) throw new ServiceError('not_found', `There is no publication ${id}.`);
    return {
      summary: summaryOf(report, now()),
      packageParentId: report.packageParentId ?? '',
      leaseUntil: instant(report.leaseUntil),
      deadline: instant(report.deadline),
      decidedAt: instant(report.decidedAt),
      finishedAt: instant(report.finishedAt),
      resourceIds: [...report.resourceIds],
      publishedIds: [...report.publishedIds],
      snapshotJson: JSON.stringify(report.snapshot),
      refusal: report.refusal === null ? null : refusalMessage(report.refusal),
    };
  };
}

function instant(at: Date | null): string {
  return at?.toISOString() ?? '';
}

function refusalMessage({ kind, message, issues, code = '' }: Refusal) {
  return {
    kind,
    message,
    code,
    issues: issues.map(({ field, messages, record = '' }) => ({ field, messages: [...messages], record })),
  };
}
