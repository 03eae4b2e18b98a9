import type { ProcessPorts, StackPorts } from './ports.ts';
import type { Caller, Secrets } from './secrets.ts';
import { SERVICES, type ServiceName } from './service-names.ts';

export interface SystemContext {
  hasPages: boolean;
  ports: StackPorts;
  secrets: Secrets;
  databaseUrls: Record<ServiceName, string>;
  natsUrls: Record<ServiceName, string>;
  filesDir: string;
  /** Where the operator's vocabulary entries lie. */
  vocabularyDir: string;
  logLevel: string;
  /** The environment of the start. */
  outer: Readonly<Record<string, string | undefined>>;
}

type Variables = Record<string, string | undefined>;

/** Whom each service calls; it gets their addresses and keys, and no others. */
export const CALLS: Record<ServiceName, readonly ServiceName[]> = {
  gateway: ['records', 'packages', 'files', 'access-links', 'search'],
  records: ['packages', 'files', 'access-links'],
  packages: ['records', 'files', 'access-links'],
  files: ['records', 'packages'],
  'access-links': [],
  search: ['records', 'packages'],
};

/** Variables of the surrounding tool. A user may set all others for the services. */
const KEPT_BACK = /^(npm_.*|NODE_OPTIONS|NODE_PATH|NODE_ENV|JEST_.*|TEST_(?!SETTINGS$).*|INIT_CWD|PG[A-Z]+)$/;

/** The whole environment of one service's process, with its ports. */
export function serviceEnvironment(
  service: ServiceName,
  context: SystemContext,
  own: ProcessPorts = context.ports,
): Variables {
  const { secrets } = context;
  return {
    ...inheritedVariables(context.outer),
    NODE_ENV: 'production',
    LOG_LEVEL: context.logLevel,
    DATABASE_URL: context.databaseUrls[service],
    NATS_URL: context.natsUrls[service],
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: String(own.services[service].grpc),
    HEALTH_PORT: String(own.services[service].health),
    VOCABULARY_DIR: context.vocabularyDir,
    ...Object.fromEntries(
      CALLS[service].map((callee) => [`${prefixOf(callee)}_ADDRESS`, addressOf(callee, context)]),
    ),
    ...serviceKeys(service, secrets, { hasPages: context.hasPages }),
    ...ownVariables(service, context, own),
  };
}

/** Secrets that only a service and its peers know, except passwords of backends. */
export function serviceKeys(
  service: ServiceName,
  secrets: Secrets,
  { hasPages = true }: { hasPages?: boolean } = {},
): Readonly<Record<string, string>> {
  const keysOfCallees = CALLS[service].map((callee) => [
    `${prefixOf(callee)}_KEY`,
    secrets.callerKeys[callee][service],
  ]);
  return {
    CALLER_KEYS: callerKeys(service, secrets),
    ...Object.fromEntries(keysOfCallees),
    ...ownKeys(service, secrets),
    ...(service === 'gateway' && hasPages ? { WEB_KEY: secrets.webKey } : {}),
  };
}

/** The operator may call all services; each lists the RPCs it may call. */
function callerKeys(callee: ServiceName, secrets: Secrets): string {
  const callers: Caller[] = ['operator', ...SERVICES.filter((service) => CALLS[service].includes(callee))];
  return callers.map((caller) => `${caller}=${secrets.callerKeys[callee][caller]}`).join(',');
}

function prefixOf(service: ServiceName): string {
  return service.toUpperCase().replaceAll('-', '_');
}

function addressOf(service: ServiceName, { ports }: SystemContext): string {
  const processes = ports.replicas === undefined ? [ports] : [ports, ports.replicas];
  return processes.map(({ services }) => `127.0.0.1:${services[service].grpc}`).join(',');
}

function ownKeys(service: ServiceName, secrets: Secrets): Record<string, string> {
  const filesTicket = { FILES_TICKET_KEY: secrets.filesTicketKey };
  const linksTicket = { ACCESS_LINKS_TICKET_KEY: secrets.accessLinksTicketKey };
  const keys: Record<ServiceName, Record<string, string>> = {
    gateway: { SEALING_KEY: secrets.sealingKey },
    records: { ...filesTicket, ...linksTicket },
    packages: { ...filesTicket, ...linksTicket },
    files: filesTicket,
    'access-links': { ...linksTicket, LINK_TOKEN_KEY: secrets.linkTokenKey },
    search: {},
  };
  return keys[service];
}

/** A local system is for trying out, so it has test identifiers unless its user sets others. */
function identifiers({ DOI_PREFIX, OAI_PREFIX }: Variables): Variables {
  return {
    DOI_PREFIX: DOI_PREFIX || '10.5072',
    OAI_PREFIX: OAI_PREFIX || 'localhost',
    ALLOW_TEST_IDENTIFIERS: 'true',
  };
}

/** The whole environment of the web service's process. */
export function webEnvironment({ ports, secrets, outer, logLevel }: SystemContext): Variables {
  return {
    ...inheritedVariables(outer),
    NODE_ENV: 'production',
    LOG_LEVEL: logLevel,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(ports.web.http),
    HEALTH_PORT: String(ports.web.health),
    GATEWAY_URL: `http://127.0.0.1:${ports.http}`,
    WEB_KEY: secrets.webKey,
    OAI_PREFIX: identifiers(outer)['OAI_PREFIX'],
  };
}

function inheritedVariables(outer: SystemContext['outer']): Variables {
  return Object.fromEntries(Object.entries(outer).filter(([name]) => !KEPT_BACK.test(name)));
}

function ownVariables(service: ServiceName, context: SystemContext, own: ProcessPorts): Variables {
  const { filesDir, outer, hasPages, ports } = context;
  if (service === 'gateway') {
    return {
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: String(own.http),
      ...(hasPages ? { WEB_URL: `http://127.0.0.1:${ports.web.http}` } : {}),
      FILES_CONTENT_URL: `http://127.0.0.1:${own.content}`,
    };
  }
  if (service === 'records' || service === 'packages') {
    return {
      PUBLIC_BASE_URL: outer['PUBLIC_BASE_URL'] || `http://127.0.0.1:${ports.http}`,
      ...identifiers(outer),
    };
  }
  if (service === 'files') return { CONTENT_PORT: String(own.content), STORAGE_DIR: filesDir };
  return {};
}
