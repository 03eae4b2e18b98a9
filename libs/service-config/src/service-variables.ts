import { EnvReader } from './env-reader.ts';
import type { Environment } from './environment.ts';
import { constant } from './test-settings.ts';

/** Variables that all services share. */

export function readDatabaseUrl(read: EnvReader): URL {
  return read.url('DATABASE_URL', {
    doc: 'Postgres database of the service, with user and password; not through a pooler, because sessions hold locks',
    isSecret: true,
  });
}

/** For programs that need only the database. @throws ConfigError when it is not set */
export function readDatabaseUrlAlone(environment: Environment): URL {
  const read = new EnvReader(environment);
  const databaseUrl = readDatabaseUrl(read);
  read.done();
  return databaseUrl;
}

export function readNatsUrl(read: EnvReader): URL {
  return read.url('NATS_URL', {
    doc: "NATS with JetStream, with the service's user and password",
    isSecret: true,
  });
}

/** Port 0 = any free port. */
export function readListening(read: EnvReader): {
  grpcHost: string;
  grpcPort: number;
  healthPort: number;
} {
  return {
    grpcHost: read.string('GRPC_HOST', {
      doc: 'Address of the internal ports',
      fallback: '127.0.0.1',
    }),
    grpcPort: readPort(read, 'GRPC_PORT', { doc: 'Port of the gRPC server', fallback: 0 }),
    healthPort: readPort(read, 'HEALTH_PORT', { doc: 'Port of `/livez` and `/readyz`', fallback: 0 }),
  };
}

export function readPort(
  read: EnvReader,
  name: string,
  { doc, fallback }: { doc: string; fallback: number },
): number {
  return read.integer(name, { doc: `${doc}; 0 = any free port`, fallback, min: 0, max: 65_535 });
}

export function readCallerKeys(read: EnvReader): ReadonlyMap<string, string> {
  return read.namedSecrets('CALLER_KEYS', {
    doc: 'Keys with which callers sign principals: `gateway=…,operator=…`',
  });
}

/** As clients of `@kr/rpc` take it. */
export function readPeerAddress(read: EnvReader, peer: string): string {
  return read.addresses(`${peer}_ADDRESS`, {
    doc: `\`host:port\` of ${serviceOf(peer)}, or a list of \`IPv4:port\`; calls are distributed over all addresses`,
  });
}

export function readPeerKey(read: EnvReader, peer: string): string {
  return read.secret(`${peer}_KEY`, { doc: `Key that signs principals for ${serviceOf(peer)}` });
}

export function readTicketKey(read: EnvReader, peer: 'FILES' | 'ACCESS_LINKS'): string {
  return read.secret(`${peer}_TICKET_KEY`, {
    doc: `Key that signs and verifies permission tickets for ${serviceOf(peer)}`,
  });
}

const TEST_DOI_PREFIX = '10.5072';
const TEST_OAI_PREFIX = 'localhost';
/** A namespace identifier of OAI identifiers, version 2.0: a domain name. */
const OAI_NAMESPACE = /^[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z][a-zA-Z0-9-]*)+$/;

/** Deadline of a call to another service; validating may take six times, publishing twelve times as long. */
export function rpcDeadlineMs(env: Environment): number {
  return constant(env, 'rpcDeadlineMs', 5_000);
}

/** Minimum average rate of a download, in the gateway and in the files service behind it. */
export const MIN_DOWNLOAD_BYTES_PER_SECOND = 1_024;

/** The folder of the operator's additions to vocabularies; empty: none. */
export function readVocabularyDir(read: EnvReader): string {
  return read.string('VOCABULARY_DIR', {
    doc: 'Folder with additions to vocabularies, the same for every service',
    fallback: '',
  });
}

/** The prefixes of DOIs and OAI identifiers. Neither has a default: identifiers are permanent. */
export function readPrefixes(read: EnvReader): { doiPrefix: string; oaiPrefix: string } {
  const allowTest = read.boolean('ALLOW_TEST_IDENTIFIERS', {
    doc: `Allows the DOI test prefix ${TEST_DOI_PREFIX} and the OAI prefix ${TEST_OAI_PREFIX}; for test systems only`,
    fallback: false,
  });
  const isTest = (test: string) => `is ${test}, which is for tests; set ALLOW_TEST_IDENTIFIERS to use it`;
  return {
    doiPrefix: read.string('DOI_PREFIX', {
      doc: 'DOI prefix registered for this repository, such as `10.1234`',
      check: (text) => {
        if (!/^10\.\d{4,9}(\.\d+)*$/.test(text)) return 'is not a DOI prefix such as 10.1234';
        return text === TEST_DOI_PREFIX && !allowTest ? isTest(TEST_DOI_PREFIX) : undefined;
      },
    }),
    oaiPrefix: read.string('OAI_PREFIX', {
      doc: 'Domain name in OAI identifiers, such as `repository.example.org`',
      check: (text) => {
        if (text === TEST_OAI_PREFIX) return allowTest ? undefined : isTest(TEST_OAI_PREFIX);
        return OAI_NAMESPACE.test(text) ? undefined : 'is not a domain name such as repository.example.org';
      },
    }),
  };
}

/** How long the files of a removed entity are kept, in milliseconds. */
export function readRemovalRetention(read: EnvReader): number {
  const days = read.integer('REMOVAL_RETENTION_DAYS', {
    doc: 'Days until the files of a removed record or package are deleted; it can be restored until then',
    fallback: 30,
    min: 1,
    max: 3_650,
  });
  return days * 86_400_000;
}

/** Limits on all entities of one kind of one owner. */
export function readOwnerLimits(read: EnvReader): { maxDrafts: number; maxMetadataBytes: number } {
  return {
    maxDrafts: read.integer('MAX_DRAFTS_PER_USER', {
      doc: 'Maximum number of drafts of one user: new entities, new versions and edits',
      fallback: 10_000,
      min: 1,
      max: 10_000_000,
    }),
    maxMetadataBytes: read.integer('MAX_METADATA_BYTES_PER_USER', {
      doc: 'Maximum size of the metadata of all entities of one user, as JSON in bytes',
      fallback: 10_000_000_000,
      min: 1_000_000,
      max: 10_000_000_000_000,
    }),
  };
}

function serviceOf(peer: string): string {
  return `the ${peer.toLowerCase().replaceAll('_', '-')} service`;
}
