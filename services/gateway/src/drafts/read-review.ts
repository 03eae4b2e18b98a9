import { ServiceError } from '@kr/service-error';
import { type EntityDeps, readEntity } from '../entity-deps.ts';
import { type Endpoint, param } from '../http/endpoint.ts';

/** GET /api/{kind}/{id}/draft/review: drafts are published by their editors alone, so there is never one. */
export function readReview(deps: EntityDeps): Endpoint {
  return async (call) => {
    await readEntity(deps, param(call, 'id'), 'FORM_DRAFT', call);
    throw new ServiceError('not_found', 'Review for draft not found');
  };
}
