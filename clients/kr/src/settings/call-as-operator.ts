import type { Principal } from '@kr/caller';
import type { Definitions } from '@kr/contracts';
import type { Client } from '@kr/rpc';
import { Failure } from '../failure.ts';
import { findOperatorDoor, reasonOf } from './admin-endpoint.ts';

const LONG_MS = 3_600_000;
/** The calls of operators, with their service and their timeout. */
const DOORS = {
  identity: { door: 'identity', audience: 'gateway', timeoutMs: 15_000 },
  publicationReports: { door: 'publications', audience: 'packages', timeoutMs: 15_000 },
  filesOperations: { door: 'files', audience: 'files', timeoutMs: LONG_MS },
  // A comparison of a large index with the services.
  search: { door: 'search', audience: 'search', timeoutMs: LONG_MS },
} as const;

/** The services that consume events and store dead letters. */
export const EVENT_CONSUMERS = ['records', 'packages', 'files', 'search'] as const;
export type EventConsumer = (typeof EVENT_CONSUMERS)[number];

interface Target {
  door: Parameters<typeof findOperatorDoor>[1];
  audience: string;
  timeoutMs: number;
}

/**
 * Calls a service of the local system that runs in the first of these folders.
 * @throws Failure when there is none, or refusals of the service
 */
export function callAsOperator<Name extends keyof typeof DOORS, Answer>(
  name: Name,
  dataDirs: readonly string[],
  ask: (client: Client<Definitions[Name]>, caller: Principal) => Promise<Answer>,
): Promise<Answer> {
  return askTarget(name, DOORS[name], dataDirs, ask);
}

/** As `callAsOperator`, about the dead letters of a service. */
export function callForDeadLetters<Answer>(
  service: EventConsumer,
  dataDirs: readonly string[],
  ask: (client: Client<Definitions['deadLetters']>, caller: Principal) => Promise<Answer>,
): Promise<Answer> {
  const door = service === 'packages' ? 'publications' : service;
  return askTarget('deadLetters', { door, audience: service, timeoutMs: LONG_MS }, dataDirs, ask);
}

/** The services whose entities have DOIs. */
export const DOI_OWNERS = ['records', 'packages'] as const;

/** As `callAsOperator`, about the DOIs of a service. */
export function callForDois<Answer>(
  service: (typeof DOI_OWNERS)[number],
  dataDirs: readonly string[],
  ask: (client: Client<Definitions['dois']>, caller: Principal) => Promise<Answer>,
): Promise<Answer> {
  const door = service === 'packages' ? 'publications' : service;
  return askTarget('dois', { door, audience: service, timeoutMs: LONG_MS }, dataDirs, ask);
}

async function askTarget<Name extends keyof Definitions, Answer>(
  name: Name,
  { door, audience, timeoutMs }: Target,
  dataDirs: readonly string[],
  ask: (client: Client<Definitions[Name]>, caller: Principal) => Promise<Answer>,
): Promise<Answer> {
  const { address, key } = await findOperatorDoor(dataDirs, door);
  // Only the commands of operators speak to the inside; the others start without what it needs.
  const [{ createClient }, { definitions }, { servicePrincipal }] = await Promise.all([
    import('@kr/rpc'),
    import('@kr/contracts'),
    import('@kr/caller'),
  ]);
  const client = createClient(definitions[name], {
    address,
    key,
    audience,
    caller: 'operator',
    defaultTimeoutMs: timeoutMs,
  });
  try {
    return await ask(client, servicePrincipal('kr-client'));
  } catch (error) {
    throw new Failure(reasonOf(error));
  } finally {
    client.close();
  }
}
