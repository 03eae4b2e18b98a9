import type { ListParentLinksRequest__Output, ListParentLinksResponse } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { AccessLinksContext } from '../context.ts';
import { listLinksOf } from '../store/link-store.ts';

const MAX_PARENTS = 100;

/** RPC ListParentLinks. @throws ServiceError `invalid`: too many parents */
export function listParentLinks({ database }: Pick<AccessLinksContext, 'database'>) {
  return async ({ parentIds }: ListParentLinksRequest__Output): Promise<ListParentLinksResponse> => {
    if (parentIds.length > MAX_PARENTS)
      throw new ServiceError('invalid', 'The request is not valid.', {
        issues: [{ field: 'parent_ids', messages: [`At most ${MAX_PARENTS}.`] }],
      });
    const links = await listLinksOf(database, parentIds);
    return {
      links: links.map(({ linkId, parentId, revision }) => ({
        id: linkId,
        parentId,
        revision: String(revision),
      })),
    };
  };
}
