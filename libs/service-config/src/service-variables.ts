import type { z } from 'zod';
import type { Environment } from './environment.ts';
import { addresses, boolean, integer, namedSecrets, secret, text, url } from './fields.ts';
import { readEnvironment, titled, variables, whenSet } from './sections.ts';
import { constant } from './test-settings.ts';

/** Variables that several services share. */

const DATABASE_URL = url({
  doc: 'Postgres database of the service, with user and password; not through a pooler, because sessions hold locks',
  isSecret: true,
});

/** For programs that need only the database. @throws ConfigError when it is not set */
export function readDatabaseUrlAlone(env: Environment): URL {
  return readEnvironment(env, variables({ DATABASE_URL })).DATABASE_URL;
}

export function portField(about: { doc: string; fallback: number }): z.ZodType<number> {
  return integer({ ...about, doc: `${about.doc}; 0 = any free port`, min: 0, max: 65_535 });
}

export const HEALTH_PORT = portField({ doc: 'Port of `/livez` and `/readyz`', fallback: 0 });

export const NATS_URL = url({
  doc: "NATS with JetStream, with the service's user and password",
  isSecret: true,
});

/** Variables of every service with a database and RPCs. */
export const SERVICE_FIELDS = {
  GRPC_HOST: text({ doc: 'Address of the internal ports', fallback: '127.0.0.1' }),
  GRPC_PORT: portField({ doc: 'Port of the gRPC server', fallback: 0 }),
  HEALTH_PORT,
  DATABASE_URL,
  CALLER_KEYS: namedSecrets({ doc: 'Keys with which callers sign principals: `gateway=…,operator=…`' }),
};

export interface ServiceConfig {
  databaseUrl: URL;
  /** Host of all internal ports. */
  grpcHost: string;
  /** 0 = any free port, as for `healthPort`. */
  grpcPort: number;
  healthPort: number;
  /** Keys that callers of this service sign principals with, by name of the caller. */
  callerKeys: ReadonlyMap<string, string>;
}

export function serviceConfig(
  values: { [Name in keyof typeof SERVICE_FIELDS]: z.output<(typeof SERVICE_FIELDS)[Name]> },
): ServiceConfig {
  return {
    databaseUrl: values.DATABASE_URL,
    grpcHost: values.GRPC_HOST,
    grpcPort: values.GRPC_PORT,
    healthPort: values.HEALTH_PORT,
    callerKeys: values.CALLER_KEYS,
  };
}

/** Address of a called service, for clients of `@kr/rpc`, and the key that signs principals for it. */
export function peerFields<Peer extends string>(
  peer: Peer,
): Record<`${Peer}_ADDRESS` | `${Peer}_KEY`, z.ZodType<string>> {
  return {
    [`${peer}_ADDRESS`]: addresses({
      doc: `\`host:port\` of ${serviceOf(peer)}, or a list of \`IPv4:port\`; calls are distributed over all addresses`,
    }),
    [`${peer}_KEY`]: secret({ doc: `Key that signs principals for ${serviceOf(peer)}` }),
  } as Record<`${Peer}_ADDRESS` | `${Peer}_KEY`, z.ZodType<string>>;
}

export function ticketKey(peer: 'FILES' | 'ACCESS_LINKS'): z.ZodType<string> {
  return secret({ doc: `Key that signs and verifies permission tickets for ${serviceOf(peer)}` });
}

function serviceOf(peer: string): string {
  return `the ${peer.toLowerCase().replaceAll('_', '-')} service`;
}

/** Deadline of a call to another service; validating may take six times, publishing twelve times as long. */
export function rpcDeadlineMs(env: Environment): number {
  return constant(env, 'rpcDeadlineMs', 5_000);
}

/** Minimum average rate of a download, in the gateway and in the files service behind it. */
export const MIN_DOWNLOAD_BYTES_PER_SECOND = 1_024;

/** Empty: no folder. */
export const VOCABULARY_DIR = text({
  doc: 'Folder with additions to vocabularies, the same for every service',
  fallback: '',
});

const TEST_DOI_PREFIX = '10.5072';
const TEST_OAI_PREFIX = 'localhost';
/** A namespace identifier of OAI identifiers, version 2.0: a domain name. */
const OAI_NAMESPACE = /^[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z][a-zA-Z0-9-]*)+$/;

/** Prefixes of DOIs and OAI identifiers. Neither has a default: identifiers are permanent. */
export const PREFIX_FIELDS = {
  ALLOW_TEST_IDENTIFIERS: boolean({
    doc: `Allows the DOI test prefix ${TEST_DOI_PREFIX} and the OAI prefix ${TEST_OAI_PREFIX}; for test systems only`,
    fallback: false,
  }),
  DOI_PREFIX: text({
    doc: 'DOI prefix registered for this repository, such as `10.1234`',
    check: (value) =>
      /^10\.\d{4,9}(\.\d+)*$/.test(value) ? undefined : 'is not a DOI prefix such as 10.1234',
  }),
  OAI_PREFIX: text({
    doc: 'Domain name in OAI identifiers, such as `repository.example.org`',
    check: (value) =>
      value === TEST_OAI_PREFIX || OAI_NAMESPACE.test(value)
        ? undefined
        : 'is not a domain name such as repository.example.org',
  }),
};

export function checkPrefixes(values: {
  ALLOW_TEST_IDENTIFIERS: boolean;
  DOI_PREFIX: string;
  OAI_PREFIX: string;
}): string[] {
  if (values.ALLOW_TEST_IDENTIFIERS) return [];
  const forTests = { DOI_PREFIX: TEST_DOI_PREFIX, OAI_PREFIX: TEST_OAI_PREFIX };
  return (['DOI_PREFIX', 'OAI_PREFIX'] as const)
    .filter((name) => values[name] === forTests[name])
    .map((name) => `${name} is ${values[name]}, which is for tests; set ALLOW_TEST_IDENTIFIERS to use it`);
}

/** Account with which a service registers DOIs; undefined: it registers none. */
export const DATACITE = titled(
  'Registration of DOIs',
  whenSet(
    ['DATACITE_REPOSITORY', 'DATACITE_PASSWORD'],
    variables({
      DATACITE_REPOSITORY: text({
        doc: 'Repository account at DataCite, such as `EXAMPLE.REPOSITORY`; without it no DOI is registered',
      }),
      DATACITE_PASSWORD: text({ doc: 'Password of `DATACITE_REPOSITORY`', isSecret: true }),
      DATACITE_URL: url({
        doc: "URL of DataCite's REST API; `https://api.test.datacite.org` for tests",
        fallback: new URL('https://api.datacite.org'),
      }),
      PUBLIC_BASE_URL: url({ doc: 'URL of the repository, to whose pages DOIs lead' }),
    }),
  ),
);

/** Limits on the entities of one owner. */
const OWNER_FIELDS = {
  REMOVAL_RETENTION_DAYS: integer({
    doc: 'Days until the files of a removed record or package are deleted; it can be restored until then',
    fallback: 30,
    min: 1,
    max: 3_650,
  }),
};

/** New entities, new versions and edits. */
const MAX_DRAFTS_PER_USER = 10_000;
/** Maximum size of the metadata of all entities of one user in one service, as JSON. */
const MAX_METADATA_BYTES_PER_USER = 10_000_000_000;

/** Variables of a service that owns records or packages, besides its peer of the other kind. */
export const ENTITY_FIELDS = {
  ...peerFields('FILES'),
  ...peerFields('ACCESS_LINKS'),
  FILES_TICKET_KEY: ticketKey('FILES'),
  ACCESS_LINKS_TICKET_KEY: ticketKey('ACCESS_LINKS'),
  ...PREFIX_FIELDS,
  ...OWNER_FIELDS,
  VOCABULARY_DIR,
};

/** Configuration of a service that owns records or packages. */
export interface EntityServiceConfig extends ServiceConfig {
  natsUrl: URL;
  filesAddress: string;
  filesKey: string;
  accessLinksAddress: string;
  accessLinksKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  ticketKeys: { files: string; 'access-links': string };
  /** Prefix of assigned DOIs. */
  doiPrefix: string;
  /** The middle part of OAI identifiers. */
  oaiPrefix: string;
  /** Limits on the entities of one owner: drafts, and bytes of JSON. */
  ownerLimits: { maxDrafts: number; maxMetadataBytes: number };
  /** Milliseconds until the files of a removed entity are deleted. */
  removalRetentionMs: number;
  /** Folder with the operator's additions to vocabularies; empty if there are no additions. */
  vocabularyDir: string;
  /** Undefined: no DOI is registered. Times in milliseconds. */
  registration:
    | { url: URL; repository: string; password: string; baseUrl: URL; intervalMs: number; retryMs: number }
    | undefined;
}

type ValuesOf<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends z.ZodType<infer Value> ? Value : never;
};

export function entityServiceConfig(
  env: Environment,
  {
    service: values,
    datacite,
  }: {
    service: ValuesOf<typeof SERVICE_FIELDS & typeof ENTITY_FIELDS & { NATS_URL: typeof NATS_URL }>;
    datacite:
      | { DATACITE_URL: URL; DATACITE_REPOSITORY: string; DATACITE_PASSWORD: string; PUBLIC_BASE_URL: URL }
      | undefined;
  },
): EntityServiceConfig {
  return {
    ...serviceConfig(values),
    natsUrl: values.NATS_URL,
    filesAddress: values.FILES_ADDRESS,
    filesKey: values.FILES_KEY,
    accessLinksAddress: values.ACCESS_LINKS_ADDRESS,
    accessLinksKey: values.ACCESS_LINKS_KEY,
    rpcDeadlineMs: rpcDeadlineMs(env),
    ticketKeys: { files: values.FILES_TICKET_KEY, 'access-links': values.ACCESS_LINKS_TICKET_KEY },
    doiPrefix: values.DOI_PREFIX,
    oaiPrefix: values.OAI_PREFIX,
    ownerLimits: { maxDrafts: MAX_DRAFTS_PER_USER, maxMetadataBytes: MAX_METADATA_BYTES_PER_USER },
    removalRetentionMs: values.REMOVAL_RETENTION_DAYS * 86_400_000,
    vocabularyDir: values.VOCABULARY_DIR,
    registration: datacite && {
      url: datacite.DATACITE_URL,
      repository: datacite.DATACITE_REPOSITORY,
      password: datacite.DATACITE_PASSWORD,
      baseUrl: datacite.PUBLIC_BASE_URL,
      intervalMs: constant(env, 'doiScanMs', 2_000),
      retryMs: constant(env, 'doiRetryMs', 5_000),
    },
  };
}
