import type { ReadPublicationRequest__Output, ReadPublicationResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { validate as isUuid } from 'uuid';
import type { PackagesContext } from '../context.ts';
import { readReport } from '../store/publication-reports.ts';
import { assertOperator } from './assert-operator.ts';
import { summaryOf } from './list-publications.ts';
import type { Refusal } from './publication.ts';

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
      settledAt: instant(report.settledAt),
      resourceIds: report.resourceIds,
      publishedIds: report.publishedIds,
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
