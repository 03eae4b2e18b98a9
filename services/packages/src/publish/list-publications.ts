import type {
  ListPublicationsRequest__Output,
  ListPublicationsResponse,
  PublicationSummary,
} from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import { listReports, type PublicationReport } from '../store/publication-reports.ts';
import { assertOperator } from './assert-operator.ts';
import { PUBLICATION_STATES } from './publication.ts';

const USUAL_LIMIT = 100;
const LARGEST_LIMIT = 1_000;
/** A year; publications are forgotten long before. */
const GREATEST_AGE_MS = 31_536_000_000;

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
    if (limit < 0 || limit > LARGEST_LIMIT) throw invalid('limit', `At most ${LARGEST_LIMIT}.`);
    const ageMs = Number(olderThanMs);
    if (ageMs < 0 || ageMs > GREATEST_AGE_MS) throw invalid('older_than_ms', `From 0 to ${GREATEST_AGE_MS}.`);
    const at = now();
    const most = limit === 0 ? USUAL_LIMIT : limit;
    const reports = await listReports(database, {
      states,
      createdBefore: new Date(at.getTime() - ageMs),
      limit: most + 1,
    });
    return {
      publications: reports.slice(0, most).map((report) => summaryOf(report, at)),
      hasMore: reports.length > most,
    };
  };
}

export function summaryOf(report: PublicationReport, at: Date): PublicationSummary {
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
  const known: readonly string[] = PUBLICATION_STATES;
  const unknown = states.find((state) => !known.includes(state));
  if (unknown !== undefined) throw invalid('states', `Must be one of: ${known.join(', ')}.`);
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
