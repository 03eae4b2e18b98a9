import { ServiceError } from '@kr/service-error';
import { type EntityDeps, readEntity } from '../entity-deps.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { invalidInput, isObject } from '../http/json-object.ts';

/**
 * DELETE /api/{kind}/{id}: an administrator removes what is published; the body is `{removal_reason: {id}, note}`. Everybody else is
 * refused: 404 when nothing of this id is published and else 403.
 */
export function deletePublished(deps: EntityDeps): Endpoint {
  return async (call) => {
    const id = param(call, 'id');
    if (!call.principal.isAdmin) {
      await readEntity(deps, id, 'FORM_PUBLISHED', call);
      throw new ServiceError('forbidden', 'Permission denied.', {
        members: { hint: 'What is published cannot be deleted; an administrator can remove it.' },
      });
    }
    await deps.clients.lifecycle[deps.kind].removePublished({ id, ...removal(call.body) }, call.principal);
    return noContent();
  };
}

function removal(body: unknown): { reason: string; note: string } {
  const { removal_reason: given, note } = isObject(body) ? body : {};
  const reason = isObject(given) ? given['id'] : undefined;
  if (note !== undefined && typeof note !== 'string') throw invalidInput('note');
  return { reason: typeof reason === 'string' ? reason : '', note: note ?? '' };
}
