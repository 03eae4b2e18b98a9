import type { Principal } from '@kr/caller';
import type { RecordDescription__Output } from '@kr/contracts';
import { ServiceError } from '@kr/service-error';
import type { PackagesContext } from '../context.ts';
import type { Resource } from './resource-rules.ts';

/**
 * The resources of these ids. Those that the version holds already need not be readable, or even exist.
 *
 * @throws ServiceError
 *   - `not_found`: one of the others does not exist
 *   - `forbidden`: the caller may not read one of the others
 */
export async function describeResources(
  { records, database }: Pick<PackagesContext, 'records' | 'database'>,
  ids: readonly string[],
  held: readonly string[],
  principal: Principal,
): Promise<Resource[]> {
  const reply = await records.describeRecords({ ids: [...new Set(ids)] }, principal);
  const found = new Map(reply.records.map((record) => [record.id, record]));
  for (const id of ids) {
    if (held.includes(id)) continue;
    const record = found.get(id);
    if (record === undefined) throw await missing(database, id);
    if (!record.isReadable) throw new ServiceError('forbidden', 'Permission denied.');
  }
  return ids.map((id) => resourceOf(id, found.get(id)));
}

function resourceOf(id: string, record: RecordDescription__Output | undefined): Resource {
  return { id, isPublished: record?.isPublished ?? false, managedBy: record?.managedBy ?? '' };
}

async function missing(database: PackagesContext['database'], id: string): Promise<ServiceError> {
  const isPackage = (await database.version.findUnique({ where: { id }, select: { id: true } })) !== null;
  return new ServiceError(
    'not_found',
    isPackage ? 'Not found.' : 'The persistent identifier does not exist.',
  );
}
