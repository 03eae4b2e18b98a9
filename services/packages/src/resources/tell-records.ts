import { servicePrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import type { Restriction } from './package-access.ts';

/** One package version as the records service should know it. */
export interface VersionNews extends Restriction {
  readonly id: string;
  readonly parentId: string;
  /** Of its draft. */
  readonly revision: number;
  readonly ids: readonly string[];
}

/**
 * Notifies the records service at once. If the call is lost, an event has the same effect.
 *
 * @throws ServiceError when resources that should be closed with their package may still be open: publishing
 * them now would make them public
 */
export async function tellRecords(
  { records, observed }: Pick<PackagesContext, 'records' | 'observed'>,
  { id, parentId, revision, ids, restrictedIds, accessJson }: VersionNews,
  requestId: string,
): Promise<void> {
  try {
    await records.setPackageResources(
      { packageId: id, packageParentId: parentId, revision, ids: [...ids], restrictedIds, accessJson },
      servicePrincipal('packages', requestId),
    );
  } catch (cause) {
    observed.mirrorDelayed(id, cause);
    if (restrictedIds.length > 0) throw ServiceError.from(cause);
  }
}
