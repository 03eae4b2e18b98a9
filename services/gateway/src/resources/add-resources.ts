import type { Clients } from '../clients.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { checkedBody } from './checked-body.ts';
import { idListBody } from './id-list-body.ts';

/** POST /api/packages/{id}/draft/resources: 200; `errors` names those that were not added, and why. */
export function addResources(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.addResources({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'resources'),
      () => change([]),
    );
    const { errors } = await change(ids);
    return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
  };
}
