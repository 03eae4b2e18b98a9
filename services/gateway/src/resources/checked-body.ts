import type { Clients } from '../clients.ts';
import { type Call, param } from '../http/endpoint.ts';

export interface PackageAction {
  form: 'FORM_DRAFT' | 'FORM_UNSPECIFIED';
  /** The action of the policy table that the body is for. */
  action: 'manage_resources' | 'manage_context';
}

/**
 * What `read` makes of the body. A bad body is reported only to who may do the action: whoever may not hears that.
 *
 * @throws ServiceError what kept the caller from the action; else what `read` throws
 */
export async function checkedBody<Value>(
  clients: Clients,
  { form, action }: PackageAction,
  call: Call,
  read: (body: unknown) => Value,
): Promise<Value> {
  try {
    return read(call.body);
  } catch (invalid) {
    await clients.lifecycle.package.authorise({ id: param(call, 'id'), form, action }, call.principal);
    throw invalid;
  }
}
