import { ServiceError } from '@kr/service-error';
import { isEntityId } from './id-rules.ts';
import type { LifecycleDeps } from './lifecycle-deps.ts';

/** No such identifier. */
export function unknownId(): ServiceError {
  return new ServiceError('not_found', 'The persistent identifier does not exist.');
}

/** Known, but there is no published form. */
export function notRegistered(): ServiceError {
  return new ServiceError('not_found', 'The persistent identifier is not registered.', {
    code: 'not_published',
  });
}

/** The id exists but not in this role: no draft, a parent's id, an id of the other kind. */
export function notFound(hint?: string): ServiceError {
  return new ServiceError('not_found', 'Not found.', hint === undefined ? {} : { members: { hint } });
}

/** Why each of these ids is no entity of this kind. */
export async function whyMissing(
  deps: Pick<LifecycleDeps, 'database' | 'findElsewhere' | 'kind'>,
  ids: readonly string[],
): Promise<(id: string) => ServiceError> {
  const possible = ids.filter(isEntityId);
  if (possible.length === 0) return unknownId;
  const parents = await deps.database.$queryRawUnsafe<{ id: string }[]>(
    'select id from parent where id = any($1::text[])',
    possible,
  );
  const known = new Set(parents.map(({ id }) => id));
  const others = await deps.findElsewhere(possible.filter((id) => !known.has(id)));
  const other = deps.kind.name === 'record' ? 'package' : 'record';
  return (id) => {
    if (others.has(id)) return notFound(`${id} is a ${other}: /api/${other}s/${id}.`);
    return known.has(id)
      ? notFound(`${id} is the id of all versions; use the id of one of them.`)
      : unknownId();
  };
}
