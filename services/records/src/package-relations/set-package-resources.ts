import type { SetPackageResourcesRequest__Output, SetPackageResourcesResponse } from '@kr/contracts';
import { assertService, transact } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import type { RecordsContext } from '../context.ts';
import { replacePackageRecords } from '../store/package-relation-store.ts';
import { tellChanged } from './tell-changed.ts';

/** What the packages service tells of one package version. */
export interface PackageNews {
  packageId: string;
  revision: string | number;
  recordIds: readonly string[];
}

/** RPC SetPackageResources. @throws ServiceError `forbidden` when the caller is no service */
export function setPackageResources(context: Pick<RecordsContext, 'lifecycle'>) {
  return async (
    { packageId, revision, ids }: SetPackageResourcesRequest__Output,
    { principal }: CallContext,
  ): Promise<SetPackageResourcesResponse> => {
    assertService(principal);
    await writePackageNews(context, { packageId, revision, recordIds: ids });
    return {};
  };
}

/** By call or by event, in any order: older news changes nothing. The records themselves stay as they are. */
export async function writePackageNews(
  { lifecycle }: Pick<RecordsContext, 'lifecycle'>,
  news: PackageNews,
): Promise<void> {
  await transact(lifecycle, async (tx) => {
    const affected = await replacePackageRecords(tx, news, lifecycle.now());
    if (affected !== undefined) await tellChanged(lifecycle, tx, affected);
  });
}
