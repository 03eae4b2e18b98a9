import type { Principal } from '@kr/caller';
import { type Entity, getEntity, notFound, permit } from '@kr/draft-lifecycle';
import type { PackagesContext } from '../context.ts';

/**
 * Any version of a package whose context the caller may manage; it needs no draft.
 *
 * @throws ServiceError `not_found` or `forbidden`
 */
export async function managedPackage(
  { lifecycle, now }: Pick<PackagesContext, 'lifecycle' | 'now'>,
  packageId: string,
  principal: Principal,
): Promise<Entity> {
  const entity = await getEntity(lifecycle, packageId);
  const face = entity.draft ?? entity.published;
  if (face === null) throw notFound();
  permit(principal, 'manage_context', entity, face, now());
  return entity;
}
