import { EnvReader } from './env-reader.ts';
import type { Environment } from './environment.ts';

/** Variables that all services share. */

export function readDatabaseUrl(read: EnvReader): URL {
  return read.url('DATABASE_URL', {
    doc: "The service's own Postgres database, with user and password; a direct connection, as sessions hold locks",
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
      doc: 'The address that internal ports are opened on',
      fallback: '127.0.0.1',
    }),
    grpcPort: readPort(read, 'GRPC_PORT', { doc: 'The port of the gRPC server', fallback: 0 }),
    healthPort: readPort(read, 'HEALTH_PORT', { doc: 'The port of `/livez` and `/readyz`', fallback: 0 }),
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
    doc: 'Keys that callers of this service sign principals with: `gateway=…,operator=…`',
  });
}

/** As clients of `@kr/rpc` take it. */
export function readPeerAddress(read: EnvReader, peer: string): string {
  return read.addresses(`${peer}_ADDRESS`, {
    doc: `The \`host:port\` of the gRPC server of ${serviceOf(peer)}, or several \`IPv4:port\`; calls take turns between all addresses`,
  });
}

export function readPeerKey(read: EnvReader, peer: string): string {
  return read.secret(`${peer}_KEY`, { doc: `Key that signs principals for ${serviceOf(peer)}` });
}

export function readTicketKey(read: EnvReader, peer: 'FILES' | 'ACCESS_LINKS'): string {
  return read.secret(`${peer}_TICKET_KEY`, {
    doc: `Signs and verifies the tickets by which ${serviceOf(peer)} knows what a caller may do`,
  });
}

const TEST_DOI_PREFIX = '10.5072';
const TEST_OAI_PREFIX = 'localhost';
/** A namespace identifier of OAI identifiers, version 2.0: a domain name. */
const OAI_NAMESPACE = /^[a-zA-Z][a-zA-Z0-9-]*(\.[a-zA-Z][a-zA-Z0-9-]*)+$/;

/** For clients of `@kr/rpc`. */
export function readRpcDeadline(read: EnvReader): number {
  return read.integer('RPC_DEADLINE_MS', {
    doc: 'Milliseconds that a call of another service may take; validating has six times, publishing twelve times as long',
    fallback: 5_000,
    min: 100,
    max: 60_000,
  });
}

/** Of the gateway, and of the files service behind it. */
export function readLeastDownload(read: EnvReader): number {
  return read.integer('MIN_DOWNLOAD_BYTES_PER_SECOND', {
    doc: 'Minimum average bytes per second of a download, which otherwise ends; up to 4 MiB read faster count as credit',
    fallback: 1_024,
    min: 1,
    max: 1_000_000_000,
  });
}

/** The folder of the operator's additions to vocabularies; empty: none. */
export function readVocabularyDir(read: EnvReader): string {
  return read.string('VOCABULARY_DIR', {
    doc: 'The folder with the additions to vocabularies, the same for every service; empty: none',
    fallback: '',
  });
}

/** The prefixes of DOIs and OAI identifiers. Neither has a default: identifiers are permanent. */
export function readPrefixes(read: EnvReader): { doiPrefix: string; oaiPrefix: string } {
  const allowTest = read.boolean('ALLOW_TEST_IDENTIFIERS', {
    doc: `Allows the DOI test prefix ${TEST_DOI_PREFIX} and the OAI prefix ${TEST_OAI_PREFIX}; for systems that are thrown away`,
    fallback: false,
  });
  const isTest = (test: string) => `is ${test}, which is for tests; set ALLOW_TEST_IDENTIFIERS to use it`;
  return {
    doiPrefix: read.string('DOI_PREFIX', {
      doc: 'The DOI prefix registered for this repository, such as `10.1234`',
      check: (text) => {
        if (!/^10\.\d{4,9}(\.\d+)*$/.test(text)) return 'is not a DOI prefix such as 10.1234';
        return text === TEST_DOI_PREFIX && !allowTest ? isTest(TEST_DOI_PREFIX) : undefined;
      },
    }),
    oaiPrefix: read.string('OAI_PREFIX', {
      doc: 'The domain name in OAI identifiers, such as `repository.example.org`',
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
    doc: 'Days during which a removed record or package can be restored; then its files are deleted',
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
      doc: 'Drafts of one user, of new entities, new versions and edits',
      fallback: 10_000,
      min: 1,
      max: 10_000_000,
    }),
    maxMetadataBytes: read.integer('MAX_METADATA_BYTES_PER_USER', {
      doc: 'Bytes of metadata, as JSON, of all entities of one user',
      fallback: 10_000_000_000,
      min: 1_000_000,
      max: 10_000_000_000_000,
    }),
  };
}

function serviceOf(peer: string): string {
  return `the ${peer.toLowerCase().replaceAll('_', '-')} service`;
}
