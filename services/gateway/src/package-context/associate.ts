import type { Clients } from '../clients.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { checkedBody } from '../resources/checked-body.ts';
import { idListBody } from '../resources/id-list-body.ts';

/** POST /api/packages/{id}/context/actions/associate: all the resources or none. */
export function associate(clients: Clients): Endpoint {
  return async (call) => {
    const action = { form: 'FORM_UNSPECIFIED', action: 'manage_context' } as const;
    const ids = await checkedBody(clients, action, call, (body) => idListBody(body, 'records'));
    await clients.packages.associate({ packageId: param(call, 'id'), ids }, call.principal);
    return noContent();
  };
}
