import { servicePrincipal } from '@kr/caller';
import type { definitions, VersionResources__Output } from '@kr/contracts';
import type { LifecycleDeps } from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';

type Files = Pick<Client<typeof definitions.files>, 'describeBuckets'>;

/** Counts of buckets, as the files service has them. */
export function bucketCounts(files: Files): LifecycleDeps['describeBuckets'] {
  return async (entityIds) => {
    const { buckets } = await files.describeBuckets(
      { entityIds: [...entityIds] },
      servicePrincipal('records'),
    );
    return new Map(
      buckets.map(({ entityId, entries, pending, totalBytes, keys }) => [
        entityId,
        { entries, pending, totalBytes: Number(totalBytes), keys },
      ]),
    );
  };
}

type Packages = Pick<Client<typeof definitions.packages>, 'forgetRecords'>;

const FORGET_MS = 2_000;

/** Takes resources that are gone out of the package drafts that hold them. Throws when that takes longer than 2 s. */
export function forgetInPackages(
  packages: Packages,
): (ids: readonly string[], requestId: string) => Promise<void> {
  return async (ids, requestId) => {
    const self = servicePrincipal('records', requestId);
    await packages.forgetRecords({ ids: [...ids] }, self, { timeoutMs: FORGET_MS });
  };
}

type PackageLife = Pick<Client<typeof definitions.lifecycle>, 'findIds'>;

const FIND_IDS_MS = 1_000;

/** Which of these ids belong to packages or their parents. */
export function packageIds(
  packageLife: PackageLife,
): (ids: readonly string[]) => Promise<ReadonlySet<string>> {
  return async (ids) => {
    if (ids.length === 0) return new Set();
    const self = servicePrincipal('records');
    const found = await packageLife.findIds({ ids: [...ids] }, self, { timeoutMs: FIND_IDS_MS });
    return new Set(found.ids);
  };
}

/** The resource lists of all package versions, in pages, as the packages service has them. */
export type ListVersionResources = () => AsyncIterable<readonly VersionResources__Output[]>;

export function versionResources(
  packages: Pick<Client<typeof definitions.packages>, 'listVersionResources'>,
): ListVersionResources {
  return async function* () {
    for (let afterId = ''; ; ) {
      const { versions, lastId } = await packages.listVersionResources(
        { afterId },
        servicePrincipal('records'),
      );
      if (lastId === '') return;
      yield versions;
      afterId = lastId;
    }
  };
}
