import { ServiceError } from '@kr/service-error';
import { type EntityDeps, readEntity } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** DELETE /api/{kind}/{id}: always refused, 404 when nothing of this id is published and else 403. */
export function deletePublished(deps: EntityDeps): Endpoint {
  return async (call) => {
    await readEntity(deps, param(call, 'id'), 'FORM_PUBLISHED', call);
    throw new ServiceError('forbidden', 'Permission denied.');
  };
}
