import { servicePrincipal } from '@kr/caller';
import type { definitions, VersionResources__Output } from '@kr/contracts';
import type { LifecycleDeps } from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';

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

/**
 * Removes a deleted, never published resource from the package drafts that hold it. If the packages service does not
 * answer within 2 s, the event of the deletion has the same effect.
 */
export function leavePackages(packages: Packages, logger: Logger): NonNullable<LifecycleDeps['afterDelete']> {
  return async ({ id, packageIds }, requestId) => {
    if (packageIds.length === 0) return;
    const self = servicePrincipal('records', requestId);
    await packages.forgetRecords({ ids: [id] }, self, { timeoutMs: FORGET_MS }).catch((cause: unknown) => {
      logger.warn({ err: cause, id }, 'the packages of a deleted resource are notified later');
    });
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
