import type { Secrets } from './secrets.ts';

/** The services that answer calls of operators. */
export const ADMIN_SERVICES = ['gateway', 'records', 'packages', 'files', 'search'] as const;
export type AdminService = (typeof ADMIN_SERVICES)[number];

/** How operators reach a service. */
export interface AdminEndpoint {
  address: string;
  key: string;
}

/** The endpoints with the operator's keys. */
export function adminEndpoints(
  { callerKeys }: Secrets,
  addressOf: (service: AdminService) => string,
): Record<AdminService, AdminEndpoint> {
  const pairs = ADMIN_SERVICES.map((service) => [
    service,
    { address: addressOf(service), key: callerKeys[service].operator },
  ]);
  return Object.fromEntries(pairs) as Record<AdminService, AdminEndpoint>;
}
