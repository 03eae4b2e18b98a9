import { servicePrincipal } from '@kr/caller';
import type { ReadAuditLogRequest__Output, ReadAuditLogResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import type { PackagesContext } from '../context.ts';

type ReadAuditLog = (
  request: ReadAuditLogRequest__Output,
  call: CallContext,
) => Promise<ReadAuditLogResponse>;

/**
 * RPC ReadAuditLog of packages: the lifecycle's own, and what the records service has done in the package's name.
 *
 * @throws ServiceError as the lifecycle's; `unavailable` when the records service is not reached
 */
export function readAuditLog(
  { records }: Pick<PackagesContext, 'records'>,
  ofLifecycle: ReadAuditLog,
): ReadAuditLog {
  return async (request, call) => {
    const reply = await ofLifecycle(request, call);
    const { parentId: packageParentId = '', trails = [] } = reply;
    const self = servicePrincipal('packages', call.principal.requestId);
    const { trail } = await records.readPackageTrail({ packageParentId, limit: request.limit }, self);
    return { ...reply, trails: [...trails, ...(trail === null ? [] : [trail])] };
  };
}
