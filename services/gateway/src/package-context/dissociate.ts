import type { Clients } from '../clients.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { checkedBody } from '../resources/checked-body.ts';
import { idListBody } from '../resources/id-list-body.ts';

/** POST /api/packages/{id}/context/actions/dissociate: all the resources or none. */
export function dissociate(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.dissociate({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'records'),
      () => change([]),
    );
    await change(ids);
    return noContent();
  };
}
