import type { EntityDeps } from '../entity-deps.ts';
import { type Call, param } from '../http/endpoint.ts';

/**
 * A ticket to manage the links of the entity's parent; any version and either form of it will do.
 *
 * @throws ServiceError whatever kept the entity's service from giving one
 */
export async function authoriseLinks({ kind, clients }: EntityDeps, call: Call): Promise<string> {
  const { ticket } = await clients.lifecycle[kind].authorise(
    { id: param(call, 'id'), form: 'FORM_UNSPECIFIED', action: 'manage_links' },
    call.principal,
    { signal: call.signal },
  );
  return ticket;
}
