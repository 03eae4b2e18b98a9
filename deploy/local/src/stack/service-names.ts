/** The services of the system, in the order of ARCHITECTURE.md; each is a folder of `services/`. */
export const SERVICES = ['gateway', 'records', 'packages', 'files', 'access-links', 'search'] as const;

export type ServiceName = (typeof SERVICES)[number];

/** The services above, which have a database and RPCs, and the one that serves pages as a client of the public API. */
export const PROGRAMS = [...SERVICES, 'web'] as const;

export type ProgramName = (typeof PROGRAMS)[number];

/** Maps each service name to a value. */
export function eachService<Value>(make: (name: ServiceName) => Value): Record<ServiceName, Value> {
  const pairs = SERVICES.map((name) => [name, make(name)] as const);
  return Object.fromEntries(pairs) as Record<ServiceName, Value>;
}
