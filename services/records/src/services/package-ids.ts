import { servicePrincipal } from '@kr/caller';
import type { definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';

type PackageLife = Pick<Client<typeof definitions.lifecycle>, 'findIds'>;

const TIMEOUT_MS = 1_000;

/** Which of these ids belong to packages or their parents. */
export function packageIds(
  packageLife: PackageLife,
): (ids: readonly string[]) => Promise<ReadonlySet<string>> {
  return async (ids) => {
    if (ids.length === 0) return new Set();
    const self = servicePrincipal('records');
    const found = await packageLife.findIds({ ids: [...ids] }, self, { timeoutMs: TIMEOUT_MS });
    return new Set(found.ids);
  };
}
