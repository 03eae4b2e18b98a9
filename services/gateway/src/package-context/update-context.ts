import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { invalidInput, isObject } from '../http/json-object.ts';
import { checkedBody } from '../resources/checked-body.ts';

/** PUT /api/packages/{id}/context: the settings of the context. */
export function updateContext(clients: Clients): Endpoint {
  return async (call) => {
    const change = (recordPolicy: string) =>
      clients.packages.updateContext({ packageId: param(call, 'id'), recordPolicy }, call.principal);
    const recordPolicy = await checkedBody(
      () => readPolicy(call.body),
      () => change(''),
    );
    await change(recordPolicy);
    return noContent();
  };
}

/** @throws ServiceError `invalid`: not `{"access": {"record_policy": "open" | "closed"}}` */
function readPolicy(body: unknown): 'open' | 'closed' {
  if (!isObject(body)) throw invalidInput();
  const { access } = body;
  if (access === undefined) throw refused('access', 'Missing data for required field.');
  if (!isObject(access)) throw invalidInput('access._schema');
  const { record_policy: policy } = access;
  if (policy === undefined) throw refused('access.record_policy', 'Missing data for required field.');
  if (policy !== 'open' && policy !== 'closed') {
    throw refused('access.record_policy', 'Must be one of: open, closed.');
  }
  return policy;
}

function refused(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
