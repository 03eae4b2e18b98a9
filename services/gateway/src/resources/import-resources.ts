import type { Clients } from '../clients.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';

/** POST /api/packages/{id}/draft/actions/resources-import: the draft gets the resources of the previous version. */
export function importResources(clients: Clients): Endpoint {
  return async (call) => {
    await clients.packages.importResources({ packageId: param(call, 'id') }, call.principal);
    return noContent();
  };
}
