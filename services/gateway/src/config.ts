import {
  ConfigError,
  type Environment,
  EnvReader,
  readCallerKeys,
  readDatabaseUrl,
  readLeastDownload,
  readListening,
  readNatsUrl,
  readPeerAddress,
  readPeerKey,
  readPort,
  readRpcDeadline,
  readVocabularyDir,
} from '@kr/service-config';
import proxyAddr from 'proxy-addr';

/** How many times `RPC_DEADLINE_MS` a publish may take: a package may bring many resources along. */
export const PUBLISH_TIMEOUT_FACTOR = 12;

export interface ServiceAddress {
  /** `host:port`. */
  address: string;
  /** The secret with which principals for this service are signed. */
  key: string;
}

export interface HttpLimits {
  /** The largest JSON body, in bytes. */
  bodyMaxBytes: number;
  /** How long a JSON body may take to arrive, in milliseconds. Bodies of files have no such limit. */
  bodyTimeoutMs: number;
  /** The largest request line and headers together, in bytes. */
  headerMaxBytes: number;
  /** The most header lines. */
  headerMaxCount: number;
  /** The longest request target, in bytes. */
  urlMaxBytes: number;
  /** How long headers may take to arrive, in milliseconds. */
  headersTimeoutMs: number;
  /** How long a connection may be silent in the middle of a request, in milliseconds. */
  idleTimeoutMs: number;
  /** The average rate, in bytes per second, at which a client must read a file. */
  minDownloadBytesPerSecond: number;
  /** The most connections at once. */
  maxConnections: number;
  /** The largest page of a listing. */
  pageMaxSize: number;
  /** The longest wait of a change with `wait_for_index`, in milliseconds. */
  waitForIndexMs: number;
}

export interface TokenLimits {
  /** The most tokens of one user that were not revoked. */
  tokensPerUser: number;
  /** The default lifetime of a token, in days. */
  tokenLifetimeDays: number;
}

/** The identity provider whose access tokens are believed (OpenID Connect). */
export interface OidcConfig {
  /** Exactly as tokens name it. */
  issuer: string;
  /** The audience of tokens for this service. */
  audience: string;
  /** Undefined: the value in the provider's metadata. */
  jwksUrl: URL | undefined;
  /** Signature algorithms; none with a shared secret is possible. */
  algorithms: readonly string[];
  /** The claim that new users are called by. */
  nameClaim: string;
  rolesClaim: string;
  /** Users with this role are administrators; undefined: only users that an operator appointed. */
  adminRole: string | undefined;
}

/** The rate limits of callers. */
export interface RateLimitConfig {
  /** Requests a minute that no user is known of, of each address (IPv6: network); 0: any number. */
  anonymousPerMinute: number;
  /** Requests a minute of each user; 0: any number. */
  userPerMinute: number;
  /** Requests per minute with invalid credentials, per address (IPv6: per network); 0: unlimited. */
  failedCredentialsPerMinute: number;
  /** The minutes of unused requests that a caller may accumulate and then send at once. */
  burstMinutes: number;
  /** As how many requests these count. */
  weights: { search: number; publish: number; auditLog: number };
}

/** How much may be under way at once; more is refused before anything is done for it. */
export interface OverloadConfig {
  /** Requests that services work on. */
  maxRequestsInFlight: number;
  /** Files, and chunks of them, that are sent or received. */
  maxTransfersInFlight: number;
}

export interface HandOverConfig {
  /** The proxy's internal location of the folder of stored bytes, with a slash at both ends. */
  location: string;
}

export interface GatewayConfig {
  httpHost: string;
  /** 0 takes a free port. */
  httpPort: number;
  /** Where the IdentityService listens, for operators only. */
  grpcHost: string;
  grpcPort: number;
  healthHost: string;
  healthPort: number;
  /** The base of links; undefined: the host of each request. */
  publicBaseUrl: URL | undefined;
  /** Addresses, ranges or the names of proxy-addr (`loopback`) whose forwarding headers are believed. */
  trustedProxies: readonly string[];
  /** Origins whose pages may read answers, `*` for all; see `cross-origin.ts`. */
  corsAllowedOrigins: readonly string[];
  databaseUrl: URL;
  /** The bus of change events; undefined: changes made by other gateways show a second later. */
  natsUrl: URL | undefined;
  /** The keys with which the callers of the IdentityService sign principals, by name. */
  callerKeys: ReadonlyMap<string, string>;
  /** Encrypts the answers that are kept for repeated requests. */
  sealingKey: string;
  /** Milliseconds that a call of another service may take. */
  rpcDeadlineMs: number;
  services: Record<'records' | 'packages' | 'files' | 'accessLinks' | 'search', ServiceAddress>;
  /** Undefined: personal access tokens only. */
  oidc: OidcConfig | undefined;
  /** Folder with the operator's additions to vocabularies; empty: none. */
  vocabularyDir: string;
  /** Where the files service takes and gives bytes. */
  filesContentUrl: URL;
  /** For how many milliseconds it may do nothing while a request waits for it. */
  filesIdleMs: number;
  /** Where the web service serves pages, and the key it proves itself with; undefined: there are no pages. */
  web: { url: URL; key: string } | undefined;
  /** How trusted proxies are given files to send by themselves; undefined: they are not. */
  handOver: HandOverConfig | undefined;
  limits: HttpLimits & TokenLimits;
  rateLimit: RateLimitConfig;
  overload: OverloadConfig;
}

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment): GatewayConfig {
  const read = new EnvReader(env);
  const peer = (name: string): ServiceAddress => ({
    address: readPeerAddress(read, name),
    key: readPeerKey(read, name),
  });
  const listening = readListening(read);
  const config: GatewayConfig = {
    httpHost: read.string('HTTP_HOST', {
      doc: 'The address that the public port is opened on',
      fallback: '127.0.0.1',
    }),
    httpPort: readPort(read, 'HTTP_PORT', { doc: 'The port of the public API', fallback: 8080 }),
    ...listening,
    healthHost: read.string('HEALTH_HOST', {
      doc: 'The address that the health port is opened on; `GRPC_HOST` unless given',
      fallback: listening.grpcHost,
    }),
    publicBaseUrl: read.whenSet(['PUBLIC_BASE_URL'], () =>
      read.url('PUBLIC_BASE_URL', { doc: 'Base URL of links; default: the host of each request' }),
    ),
    trustedProxies: read.list('TRUSTED_PROXIES', {
      doc: 'Addresses, ranges or `loopback` whose `X-Forwarded-…` headers are believed',
      fallback: [],
    }),
    corsAllowedOrigins: read.list('CORS_ALLOWED_ORIGINS', {
      doc: 'Origins whose pages may read answers in a browser, such as `https://portal.example.org`; `*` alone: all',
      fallback: [],
    }),
    databaseUrl: readDatabaseUrl(read),
    // Without it changes made elsewhere show a second later.
    natsUrl: read.whenSet(['NATS_URL'], () => readNatsUrl(read)),
    callerKeys: readCallerKeys(read),
    sealingKey: read.secret('SEALING_KEY', {
      doc: 'Encrypts the answers that are kept for repeated requests',
    }),
    rpcDeadlineMs: readRpcDeadline(read),
    services: {
      records: peer('RECORDS'),
      packages: peer('PACKAGES'),
      files: peer('FILES'),
      accessLinks: peer('ACCESS_LINKS'),
      search: peer('SEARCH'),
    },
    oidc: read.whenSet(['OIDC_ISSUER'], () => readOidc(read)),
    vocabularyDir: readVocabularyDir(read),
    filesContentUrl: read.url('FILES_CONTENT_URL', { doc: 'Where the files service takes and gives bytes' }),
    filesIdleMs: read.integer('FILES_IDLE_MS', {
      doc: 'Milliseconds that the files service may make no progress with bytes that wait for it; less than `IDLE_TIMEOUT_MS`, so that clients get an error',
      fallback: 110_000,
      min: 100,
      max: 3_600_000,
    }),
    web: read.whenSet(['WEB_URL'], () => ({
      url: read.url('WEB_URL', {
        doc: 'Internal URL of the web service, which serves the pages; default: no pages',
      }),
      key: read.secret('WEB_KEY', {
        doc: 'Key with which the web service proves itself, so that the gateway trusts the client address it forwards',
      }),
    })),
    handOver: readHandOver(read),
    limits: {
      bodyMaxBytes: read.integer('BODY_MAX_BYTES', {
        doc: 'The largest JSON body, in bytes',
        fallback: 1_048_576,
        min: 1_024,
        max: 104_857_600,
      }),
      bodyTimeoutMs: read.integer('BODY_TIMEOUT_MS', {
        doc: 'Milliseconds a JSON body may take to arrive, and over which the rest of any body must bring 16 KiB a second once it was answered',
        fallback: 30_000,
        min: 100,
        max: 600_000,
      }),
      headerMaxBytes: 16_384,
      headerMaxCount: 100,
      urlMaxBytes: 8_192,
      headersTimeoutMs: 10_000,
      idleTimeoutMs: read.integer('IDLE_TIMEOUT_MS', {
        doc: 'Milliseconds a connection may be silent in the middle of a request, while it is not sent a file; more than `FILES_IDLE_MS` and than twelve times `RPC_DEADLINE_MS`',
        fallback: 120_000,
        min: 1_000,
        max: 3_600_000,
      }),
      minDownloadBytesPerSecond: readLeastDownload(read),
      maxConnections: read.integer('MAX_CONNECTIONS', {
        doc: 'The most connections at once',
        fallback: 10_000,
        min: 1,
        max: 1_000_000,
      }),
      tokensPerUser: read.integer('TOKENS_PER_USER', {
        doc: 'The most tokens of one user that were not revoked',
        fallback: 100,
        min: 1,
        max: 10_000,
      }),
      tokenLifetimeDays: read.integer('TOKEN_LIFETIME_DAYS', {
        doc: 'Default lifetime of a token, in days',
        fallback: 90,
        min: 1,
        max: 3_650,
      }),
      waitForIndexMs: read.integer('WAIT_FOR_INDEX_MS', {
        doc: 'The most milliseconds that a change with `?wait_for_index=true` waits until it can be found; 0: none',
        fallback: 10_000,
        min: 0,
        max: 60_000,
      }),
      pageMaxSize: read.integer('PAGE_MAX_SIZE', {
        doc: 'The largest page of a listing',
        fallback: 1_000,
        min: 1,
        max: 10_000,
      }),
    },
    rateLimit: readRateLimit(read),
    overload: {
      maxRequestsInFlight: read.integer('MAX_REQUESTS_IN_FLIGHT', {
        doc: 'The most requests that services work on at once for this gateway, of which a quarter is for reads alone; more are answered 503',
        fallback: 256,
        min: 4,
        max: 100_000,
      }),
      maxTransfersInFlight: read.integer('MAX_TRANSFERS_IN_FLIGHT', {
        doc: 'File transfers at once; more are answered 503. One caller has 5 % of them (at least 16), anonymous callers 60 % together, downloads 80 %',
        fallback: 1_000,
        min: 1,
        max: 100_000,
      }),
    },
  };
  read.done();
  checkRateLimit(config.rateLimit);
  checkTimeouts(config);
  checkOrigins(config.corsAllowedOrigins);
  checkProxies(config.trustedProxies);
  checkHandOver(config);
  return config;
}

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

function readOidc(read: EnvReader): OidcConfig {
  const issuer = {
    doc: 'The OpenID Connect provider whose access tokens are believed, exactly as they name it',
  };
  read.url('OIDC_ISSUER', issuer);
  const algorithms = read.list('OIDC_ALGORITHMS', {
    doc: `Signature algorithms of its tokens, of ${ALGORITHMS.join(', ')}`,
    fallback: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  });
  const unknown = algorithms.filter((name) => !ALGORITHMS.includes(name));
  if (unknown.length > 0) {
    throw new ConfigError([`OIDC_ALGORITHMS: ${unknown.join(', ')}: must be of ${ALGORITHMS.join(', ')}`]);
  }
  return {
    issuer: read.string('OIDC_ISSUER', issuer),
    audience: read.string('OIDC_AUDIENCE', {
      doc: 'Audience of its tokens for this service',
    }),
    jwksUrl: read.whenSet(['OIDC_JWKS_URL'], () =>
      read.url('OIDC_JWKS_URL', { doc: 'URL of its keys; default: the value in its metadata' }),
    ),
    algorithms,
    nameClaim: read.string('OIDC_NAME_CLAIM', {
      doc: 'The claim that new users are called by',
      fallback: 'preferred_username',
    }),
    rolesClaim: read.string('OIDC_ROLES_CLAIM', { doc: "The claim with a user's roles", fallback: 'roles' }),
    adminRole: read.whenSet(['OIDC_ADMIN_ROLE'], () =>
      read.string('OIDC_ADMIN_ROLE', {
        doc: 'The role of administrators; default: only users that an operator appointed',
      }),
    ),
  };
}

function readRateLimit(read: EnvReader): RateLimitConfig {
  const perMinute = { min: 0, max: 1_000_000 };
  return {
    anonymousPerMinute: read.integer('RATE_LIMIT_ANONYMOUS', {
      doc: 'Requests a minute that no user is known of, of each address (IPv6: network); 0: any number',
      fallback: 500,
      ...perMinute,
    }),
    userPerMinute: read.integer('RATE_LIMIT_USER', {
      doc: 'Requests a minute of each user; 0: any number',
      fallback: 1_000,
      ...perMinute,
    }),
    failedCredentialsPerMinute: read.integer('RATE_LIMIT_FAILED_CREDENTIALS', {
      doc: 'Requests a minute with invalid credentials, of each address (IPv6: network); 0: any number',
      fallback: 60,
      ...perMinute,
    }),
    burstMinutes: read.integer('RATE_LIMIT_BURST_MINUTES', {
      doc: 'Minutes of unused requests that a caller may accumulate and then send at once',
      fallback: 2,
      min: 1,
      max: 60,
    }),
    weights: {
      search: 5,
      publish: 10,
      auditLog: 5,
    },
  };
}

function checkRateLimit({ anonymousPerMinute, userPerMinute, burstMinutes, weights }: RateLimitConfig): void {
  const heaviest = Math.max(...Object.values(weights));
  const problems = [
    ['RATE_LIMIT_ANONYMOUS', anonymousPerMinute],
    ['RATE_LIMIT_USER', userPerMinute],
  ] as const;
  const tooSmall = problems.filter(([, perMinute]) => perMinute !== 0 && perMinute * burstMinutes < heaviest);
  if (tooSmall.length === 0) return;
  throw new ConfigError(
    tooSmall.map(
      ([name]) =>
        `${name} times RATE_LIMIT_BURST_MINUTES is less than one request may weigh, which is ${heaviest}`,
    ),
  );
}

/** A connection that ends before its request times out leaves the client without an answer. */
function checkTimeouts({ rpcDeadlineMs, filesIdleMs, limits: { idleTimeoutMs } }: GatewayConfig): void {
  const publishMs = rpcDeadlineMs * PUBLISH_TIMEOUT_FACTOR;
  const limit = `must be less than IDLE_TIMEOUT_MS (${idleTimeoutMs} ms)`;
  const remedy = (longest: number) => `set IDLE_TIMEOUT_MS to more than ${longest}`;
  const problems: string[] = [];
  if (publishMs >= idleTimeoutMs) {
    const most = Math.ceil(idleTimeoutMs / PUBLISH_TIMEOUT_FACTOR) - 1;
    problems.push(
      `RPC_DEADLINE_MS × ${PUBLISH_TIMEOUT_FACTOR} (${publishMs} ms, the timeout of a publish) ${limit}: ${remedy(publishMs)} or RPC_DEADLINE_MS to at most ${most}`,
    );
  }
  if (filesIdleMs >= idleTimeoutMs)
    problems.push(
      `FILES_IDLE_MS (${filesIdleMs} ms) ${limit}: ${remedy(filesIdleMs)} or FILES_IDLE_MS to less than ${idleTimeoutMs}`,
    );
  if (problems.length > 0) throw new ConfigError(problems);
}

function readHandOver(read: EnvReader): HandOverConfig | undefined {
  const way = read.choice('FILES_HAND_OVER', ['off', 'x-accel-redirect'], {
    doc: 'How trusted proxies are given files to send by themselves ([files.md](files.md))',
    fallback: 'off',
  });
  if (way === 'off') return undefined;
  return {
    location: read.string('FILES_HAND_OVER_LOCATION', {
      doc: "The proxy's internal location of the folder of stored bytes, with a slash at both ends",
      fallback: '/stored-files/',
    }),
  };
}

function checkHandOver({ handOver, trustedProxies }: GatewayConfig): void {
  if (handOver === undefined) return;
  if (trustedProxies.length === 0)
    throw new ConfigError(['FILES_HAND_OVER is set, but TRUSTED_PROXIES names no proxy that files go to']);
  if (!/^\/[\w/-]*\/$/.test(handOver.location))
    throw new ConfigError(['FILES_HAND_OVER_LOCATION is no path between slashes, such as /stored-files/']);
}

function checkOrigins(origins: readonly string[]): void {
  if (origins.length === 1 && origins[0] === '*') return;
  const bad = origins.filter((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (bad.length > 0)
    throw new ConfigError([
      `CORS_ALLOWED_ORIGINS: ${bad.join(', ')}: must be origins such as https://portal.example.org, or * alone`,
    ]);
}

function checkProxies(trustedProxies: readonly string[]): void {
  try {
    proxyAddr.compile([...trustedProxies]);
  } catch (cause) {
    throw new ConfigError([`TRUSTED_PROXIES: ${cause instanceof Error ? cause.message : String(cause)}`]);
  }
}
