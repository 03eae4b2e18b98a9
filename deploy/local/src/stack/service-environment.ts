import type { StackPorts } from './ports.ts';
import type { Caller, Secrets } from './secrets.ts';
import { SERVICES, type ServiceName } from './service-names.ts';

export interface Surroundings {
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
const CALLS: Record<ServiceName, readonly ServiceName[]> = {
  gateway: ['records', 'packages', 'files', 'access-links', 'search'],
  records: ['packages', 'files'],
  packages: ['records', 'files'],
  files: ['packages'],
  'access-links': [],
  search: ['records', 'packages'],
};

/** What tells of the surrounding tool rather than of the system. Everything else a user may set for the services. */
const KEPT_BACK = /^(npm_.*|NODE_OPTIONS|NODE_PATH|NODE_ENV|JEST_.*|TEST_.*|INIT_CWD|PG[A-Z]+)$/;

/** The whole environment of one service's process. */
export function serviceEnvironment(service: ServiceName, given: Surroundings): Variables {
  const { ports, secrets } = given;
  return {
    ...Object.fromEntries(Object.entries(given.outer).filter(([name]) => !KEPT_BACK.test(name))),
    NODE_ENV: 'production',
    LOG_LEVEL: given.logLevel,
    DATABASE_URL: given.databaseUrls[service],
    NATS_URL: given.natsUrls[service],
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: String(ports.services[service].grpc),
    HEALTH_PORT: String(ports.services[service].health),
    CALLER_KEYS: callerKeys(service, secrets),
    VOCABULARY_DIR: given.vocabularyDir,
    ...Object.assign({}, ...CALLS[service].map((callee) => addressAndKey(service, callee, given))),
    ...own(service, given),
  };
}

/** The operator may call all of them; what he may call there is theirs to say. */
function callerKeys(callee: ServiceName, secrets: Secrets): string {
  const callers: Caller[] = ['operator', ...SERVICES.filter((service) => CALLS[service].includes(callee))];
  return callers.map((caller) => `${caller}=${secrets.callerKeys[callee][caller]}`).join(',');
}

function addressAndKey(
  caller: ServiceName,
  callee: ServiceName,
  { ports, secrets }: Surroundings,
): Variables {
  const prefix = callee.toUpperCase().replaceAll('-', '_');
  return {
    [`${prefix}_ADDRESS`]: `127.0.0.1:${ports.services[callee].grpc}`,
    [`${prefix}_KEY`]: secrets.callerKeys[callee][caller],
  };
}

function own(service: ServiceName, { ports, secrets, filesDir }: Surroundings): Variables {
  const tickets = {
    FILES_TICKET_KEY: secrets.filesTicketKey,
    ACCESS_LINKS_TICKET_KEY: secrets.accessLinksTicketKey,
  };
  const variables: Record<ServiceName, Variables> = {
    gateway: {
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: String(ports.http),
      SEALING_KEY: secrets.sealingKey,
      FILES_CONTENT_URL: `http://127.0.0.1:${ports.content}`,
    },
    records: tickets,
    packages: tickets,
    files: {
      FILES_TICKET_KEY: secrets.filesTicketKey,
      CONTENT_PORT: String(ports.content),
      STORAGE_DIR: filesDir,
    },
    'access-links': {
      ACCESS_LINKS_TICKET_KEY: secrets.accessLinksTicketKey,
      LINK_TOKEN_KEY: secrets.linkTokenKey,
    },
    search: {},
  };
  return variables[service];
}
