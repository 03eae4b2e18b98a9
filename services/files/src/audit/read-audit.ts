import type { Audit, DamagedObject as DamagedMessage, ReadAuditResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { requireOperator } from '../require-operator.ts';
import type { Database } from '../store/prisma.ts';
import {
  type AuditReport,
  countDamaged,
  type DamagedObject,
  findAudit,
  listDamaged,
  reportObjects,
} from './audit-reports.ts';

const MOST_DAMAGED = 1_000;
const MOST_FILES = 20;

/** RPC ReadAudit. @throws ServiceError `forbidden`: the caller is neither a service nor an operator */
export function readAudit({ database }: { database: Database }) {
  return async (_request: unknown, { principal }: CallContext): Promise<ReadAuditResponse> => {
    requireOperator(principal);
    const [latest, finished] = await Promise.all([
      findAudit(database, { isFinished: false }),
      findAudit(database, { isFinished: true }),
    ]);
    // Only now: who hears that an audit is finished must hear of all that it found.
    const [all, counts, damaged] = await Promise.all([
      reportObjects(database),
      countDamaged(database),
      listDamaged(database, { limit: MOST_DAMAGED, filesLimit: MOST_FILES }),
    ]);
    return {
      latest: auditMessage(latest),
      finished: auditMessage(finished),
      objects: String(all.objects),
      bytes: String(all.bytes),
      neverVerified: String(all.neverVerified),
      oldestVerifiedAt: instant(all.oldestVerifiedAt),
      damaged: counts.different + counts.missing + counts.unreadable,
      damagedObjects: damaged.map(damagedMessage),
    };
  };
}

function auditMessage(audit: AuditReport | undefined): Audit | null {
  if (audit === undefined) return null;
  const { id, startedAt, finishedAt, isHurried, isRunning, ...counts } = audit;
  const told = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
  return {
    id: String(id),
    startedAt: instant(startedAt),
    finishedAt: instant(finishedAt),
    isHurried,
    isRunning,
    ...told,
  };
}

function damagedMessage({ id, damage, size, damagedAt, verifiedAt, files }: DamagedObject): DamagedMessage {
  return {
    id,
    damage,
    size: String(size),
    damagedAt: instant(damagedAt),
    verifiedAt: instant(verifiedAt),
    files,
  };
}

function instant(at: Date | null): string {
  return at?.toISOString() ?? '';
}
