import type { Principal } from '@kr/caller';
import type { Definitions } from '@kr/contracts';
import type { AdminService } from '@kr/local-stack';
import type { Client } from '@kr/rpc';
import { CliError } from '../cli-error.ts';
import { findAdminEndpoint } from './runtime.ts';

/** The services that consume events and store dead letters. */
export const EVENT_CONSUMERS = ['records', 'packages', 'files', 'search'] as const;
export type EventConsumer = (typeof EVENT_CONSUMERS)[number];

/** The services whose entities have DOIs. */
export const DOI_OWNERS = ['records', 'packages'] as const;

/** Calls that only one service answers. */
const OWNERS = {
  identity: 'gateway',
  publicationReports: 'packages',
  filesOperations: 'files',
  search: 'search',
} as const;

const TIMEOUT_MS = 15_000;
/** Of calls about all objects, documents or events of a service. */
const LONG_TIMEOUT_MS = 3_600_000;
const SHORT_CALLS: readonly (keyof Definitions)[] = ['identity', 'publicationReports'];

type Ask<Name extends keyof Definitions, Answer> = (
  client: Client<Definitions[Name]>,
  caller: Principal,
) => Promise<Answer>;

/**
 * Calls a service of the system that runs in the first of these folders.
 * @throws CliError if no system is running, or the service rejects the call
 */
export function callAsOperator<Name extends keyof typeof OWNERS, Answer>(
  name: Name,
  dataDirs: readonly string[],
  ask: Ask<Name, Answer>,
): Promise<Answer> {
  return callService(name, OWNERS[name], dataDirs, ask);
}

/** As `callAsOperator`, for calls that several services answer. */
export async function callService<Name extends keyof Definitions, Answer>(
  name: Name,
  service: AdminService,
  dataDirs: readonly string[],
  ask: Ask<Name, Answer>,
): Promise<Answer> {
  const { address, key } = await findAdminEndpoint(dataDirs, service);
  // Loaded here, because other commands start faster without.
  const [{ createClient }, { definitions }, { servicePrincipal }] = await Promise.all([
    import('@kr/rpc'),
    import('@kr/contracts'),
    import('@kr/caller'),
  ]);
  const client = createClient(definitions[name], {
    address,
    key,
    audience: service,
    caller: 'operator',
    defaultTimeoutMs: SHORT_CALLS.includes(name) ? TIMEOUT_MS : LONG_TIMEOUT_MS,
  });
  try {
    return await ask(client, servicePrincipal('kr-client'));
  } catch (error) {
    throw new CliError(reasonOf(error));
  } finally {
    client.close();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const kind = 'kind' in error ? error.kind : undefined;
  if (kind === 'unavailable') return 'The system does not answer: is it running? `npm start` starts it.';
  const issues = 'issues' in error ? (error.issues as readonly { messages: readonly string[] }[]) : [];
  return issues.flatMap(({ messages }) => messages).join(' ') || error.message;
}
