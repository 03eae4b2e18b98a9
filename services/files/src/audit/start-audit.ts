import type { StartAuditRequest__Output, StartAuditResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireOperator } from '../require-operator.ts';
import type { Database } from '../store/prisma.ts';
import { beginAnew, beginUnlessOpen } from './audit-store.ts';

export interface StartAuditDeps {
  database: Database;
  now: () => Date;
  /** Has this process look for work at once. */
  nudgeAuditor: () => void;
}

/** RPC StartAudit. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function startAudit({ database, now, nudgeAuditor }: StartAuditDeps) {
  return async (
    { isHurried }: StartAuditRequest__Output,
    { principal }: CallContext,
  ): Promise<StartAuditResponse> => {
    requireOperator(principal);
    const id = await (isHurried ? beginAnew(database, now()) : beginUnlessOpen(database, now()));
    nudgeAuditor();
    return { id: String(id) };
  };
}
