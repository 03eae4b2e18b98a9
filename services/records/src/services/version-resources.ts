import { servicePrincipal } from '@kr/caller';
import type { definitions, VersionResources__Output } from '@kr/contracts';
import type { Client } from '@kr/rpc';

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
