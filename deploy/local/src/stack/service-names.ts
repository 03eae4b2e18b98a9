/** The services of the system, in the order of ARCHITECTURE.md; each is a folder of `services/`. */
export const SERVICES = ['gateway', 'records', 'packages', 'files', 'access-links', 'search'] as const;

export type ServiceName = (typeof SERVICES)[number];
