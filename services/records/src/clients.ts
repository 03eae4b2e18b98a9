import { servicePrincipal } from '@kr/caller';
import type { definitions, VersionResources__Output } from '@kr/contracts';
import type { LifecycleDeps } from '@kr/draft-lifecycle';
import type { Client } from '@kr/rpc';
import type { Logger } from '@kr/telemetry';

type Packages = Pick<Client<typeof definitions.packages>, 'removeDeletedRecords'>;

const REMOVE_MS = 2_000;

/**
 * Removes a deleted, never published resource from the package drafts that contain it. If the packages service does not
 * answer within 2 s, the event of the deletion has the same effect.
 */
export function removeFromPackages(
  packages: Packages,
  logger: Logger,
): NonNullable<LifecycleDeps['afterDelete']> {
  return async ({ id, packageIds }, requestId) => {
    if (packageIds.length === 0) return;
    const self = servicePrincipal('records', requestId);
    await packages
      .removeDeletedRecords({ ids: [id] }, self, { timeoutMs: REMOVE_MS })
      .catch((cause: unknown) => {
        logger.warn({ err: cause, id }, 'the packages of a deleted resource are notified later');
      });
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
