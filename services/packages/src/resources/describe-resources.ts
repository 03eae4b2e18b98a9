import type { Principal } from '@kr/caller';
import type { RecordDescription__Output } from '@kr/contracts';
import { loadEntities, notFound, whyMissing } from '@kr/draft-lifecycle';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import type { Resource } from './resource-rules.ts';

/**
 * The resources of these ids. Those already in the version need not be readable, or even exist.
 *
 * @throws ServiceError - `not_found`: one of the others does not exist - `forbidden`: the caller may not read
 * one of the others
 */
export async function describeResources(
  { records, lifecycle }: Pick<PackagesContext, 'records' | 'lifecycle'>,
  ids: readonly string[],
  held: readonly string[],
  principal: Principal,
): Promise<Resource[]> {
  const reply = await records.describeRecords({ ids: [...new Set(ids)] }, principal);
  const found = new Map(reply.records.map((record) => [record.id, record]));
  for (const id of ids) {
    if (held.includes(id)) continue;
    const record = found.get(id);
    if (record === undefined) throw await missing(lifecycle, id);
    if (!record.isReadable) throw new ServiceError('forbidden', 'Permission denied.');
  }
  return ids.map((id) => resourceOf(id, found.get(id)));
}

function resourceOf(id: string, record: RecordDescription__Output | undefined): Resource {
  return { id, isPublished: record?.isPublished ?? false, managedBy: record?.managedBy ?? '' };
}

/** The id of a package, or of a parent of either kind, is known but no resource. */
async function missing(lifecycle: PackagesContext['lifecycle'], id: string): Promise<ServiceError> {
  const packages = await loadEntities(lifecycle.database, [id]);
  return packages.has(id) ? notFound() : (await whyMissing(lifecycle, [id]))(id);
}
