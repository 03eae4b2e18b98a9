import { type EntityDeps, readEntity, revisionToChange } from '../entity-deps.ts';
import { assertUnnamed } from '../http/conditional.ts';
import { type Call, param } from '../http/endpoint.ts';

/**
 * Which draft a request is about to change, and at which revision (0 is any), as its preconditions say.
 *
 * @throws ServiceError `invalid`: If-Match is no revision; `precondition_failed`: it names others than the draft's, or
 *   If-None-Match names the draft's; or whatever keeps it from being read
 */
export async function draftToChange(
  deps: EntityDeps,
  call: Call,
): Promise<{ id: string; ifRevision: string }> {
  const id = param(call, 'id');
  const ifRevision = await revisionToChange(deps, id, 'FORM_DRAFT', call);
  const ifNoneMatch = call.headers['if-none-match'];
  if (ifNoneMatch === undefined) return { id, ifRevision };
  const { revision } = await readEntity(deps, id, 'FORM_DRAFT', call);
  assertUnnamed(ifNoneMatch, revision);
  return { id, ifRevision: ifRevision === '0' ? revision : ifRevision };
}
