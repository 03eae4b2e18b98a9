import type { Clients } from '../clients.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { checkedBody } from './checked-body.ts';
import { idListBody } from './id-list-body.ts';

/** DELETE /api/packages/{id}/draft/resources: 200; `errors` names those that were not removed, and why. */
export function removeResources(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.removeResources({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'resources'),
      () => change([]),
    );
    const { errors } = await change(ids);
    return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
  };
}
