import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';

type Packages = Pick<Client<typeof definitions.packages>, 'forgetRecords'>;

const TIMEOUT_MS = 2_000;

/** Takes resources that are gone out of the package drafts that hold them. Throws when that takes longer than 2 s. */
export function forgetInPackages(
  packages: Packages,
): (ids: readonly string[], requestId: string) => Promise<void> {
  return async (ids, requestId) => {
    const self = servicePrincipal('records', requestId);
    await packages.forgetRecords({ ids: [...ids] }, self, { timeoutMs: TIMEOUT_MS });
  };
}
