import { readTrail } from '@kr/audit-trail';
import type { ReadPackageTrailRequest__Output, ReadPackageTrailResponse } from '@kr/contracts';
import { assertService } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { RecordsContext } from '../context.ts';

/** RPC ReadPackageTrail. @throws ServiceError `forbidden` when the caller is no service */
export function readPackageTrail({ lifecycle }: Pick<RecordsContext, 'lifecycle'>) {
  return async (
    { packageParentId, limit }: ReadPackageTrailRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadPackageTrailResponse> => {
    assertService(principal);
    return { trail: await readTrail(lifecycle.database, packageParentId, limit) };
  };
}
