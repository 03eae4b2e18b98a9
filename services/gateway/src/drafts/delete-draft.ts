import type { EntityDeps } from '../entity-deps.ts';
import { demandedRevision } from '../http/conditional.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';

/** DELETE /api/{kind}/{id}/draft: discards the draft; If-Match is honoured. */
export function deleteDraft({ kind, clients }: EntityDeps): Endpoint {
  return async (call) => {
    const ifRevision = demandedRevision(call.headers['if-match']);
    await clients.lifecycle[kind].deleteDraft({ id: param(call, 'id'), ifRevision }, call.principal);
    return noContent();
  };
}
