import type { Entity } from '@kr/draft-lifecycle';
import type { Issue } from '@kr/service-error';

/**
 * Why a resource cannot be added to a package's context: it must be a draft that no other package manages
 * (our decision).
 */
export function associationIssues(
  ids: readonly string[],
  entities: ReadonlyMap<string, Entity>,
  packageParentId: string,
): Issue[] {
  return ids.flatMap((id, position) => {
    const message = problemOf(entities.get(id), packageParentId);
    return message === undefined
      ? []
      : [{ field: `records.${position}.id`, messages: [message], record: id }];
  });
}

function problemOf(entity: Entity | undefined, packageParentId: string): string | undefined {
  if (entity === undefined) return 'The persistent identifier does not exist.';
  const { managedBy } = entity.parent;
  if (managedBy === packageParentId) return undefined;
  if (managedBy !== null) return 'Record already associated with a package.';
  return entity.published === null ? undefined : 'Only drafts can be associated with a package.';
}
