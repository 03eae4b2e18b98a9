import {
  ConfigError,
  constant,
  type Environment,
  EnvReader,
  MIN_DOWNLOAD_BYTES_PER_SECOND,
  readCallerKeys,
  readDatabaseUrl,
  readListening,
  readNatsUrl,
  readPeerAddress,
  readPeerKey,
  readPort,
  readVocabularyDir,
  rpcDeadlineMs,
} from '@kr/service-config';
import proxyAddr from 'proxy-addr';

/** A publish may take this many times the RPC deadline, because a package may publish many resources with it. */
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
  /**
   * Milliseconds that the files service may make no progress with a transfer; less than `idleTimeoutMs`, so that clients get
   * an error.
   */
  filesIdleMs: number;
  /**
   * Milliseconds a connection may be silent in the middle of a request; more than the timeout of a publish, which is
   * `PUBLISH_TIMEOUT_FACTOR` times the RPC deadline.
   */
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
  /** Requests per minute per anonymous IP address (IPv6: /64); 0 = unlimited. */
  anonymousPerMinute: number;
  /** Requests per minute per user; 0 = unlimited. */
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

export interface GatewayConfig {
  httpHost: string;
  /** 0 takes a free port. */
  httpPort: number;
  /** Where the IdentityService listens, for operators only. */
  grpcHost: string;
  grpcPort: number;
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
  /** Base URL of the content port of the files service. */
  filesContentUrl: URL;
  /** Where the web service serves pages, and the key it proves itself with; undefined: there are no pages. */
  web: { url: URL; key: string } | undefined;
  /** Trusted proxies send files themselves, by `X-Accel-Redirect`. */
  xAccel: boolean;
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
  const config: GatewayConfig = {
    httpHost: read.string('HTTP_HOST', {
      doc: 'Address of the public port',
      fallback: '127.0.0.1',
    }),
    httpPort: readPort(read, 'HTTP_PORT', { doc: 'Port of the public API', fallback: 8080 }),
    ...readListening(read),
    publicBaseUrl: read.whenSet(['PUBLIC_BASE_URL'], () =>
      read.url('PUBLIC_BASE_URL', { doc: 'Base URL of links; default: the host of each request' }),
    ),
    trustedProxies: read.list('TRUSTED_PROXIES', {
      doc: 'Proxies whose `X-Forwarded-…` headers are trusted: addresses, ranges or `loopback`',
      fallback: [],
    }),
    corsAllowedOrigins: read.list('CORS_ALLOWED_ORIGINS', {
      doc: 'Origins that browsers may send requests from, such as `https://portal.example.org`; `*` = all',
      fallback: [],
    }),
    databaseUrl: readDatabaseUrl(read),
    // Without it changes made elsewhere show a second later.
    natsUrl: read.whenSet(['NATS_URL'], () => readNatsUrl(read)),
    callerKeys: readCallerKeys(read),
    sealingKey: read.secret('SEALING_KEY', {
      doc: 'Key that encrypts the stored answers of requests with an `Idempotency-Key`',
    }),
    rpcDeadlineMs: rpcDeadlineMs(env),
    services: {
      records: peer('RECORDS'),
      packages: peer('PACKAGES'),
      files: peer('FILES'),
      accessLinks: peer('ACCESS_LINKS'),
      search: peer('SEARCH'),
    },
    oidc: read.whenSet(['OIDC_ISSUER'], () => readOidc(read)),
    vocabularyDir: readVocabularyDir(read),
    filesContentUrl: read.url('FILES_CONTENT_URL', {
      doc: 'Base URL of the content port of the files service',
    }),
    xAccel: read.boolean('FILES_X_ACCEL', {
      doc: 'Trusted proxies send files themselves, by `X-Accel-Redirect` ([files.md](files.md))',
      fallback: false,
    }),
    web: read.whenSet(['WEB_URL'], () => ({
      url: read.url('WEB_URL', {
        doc: 'Internal URL of the web service, which serves the pages; default: no pages',
      }),
      key: read.secret('WEB_KEY', {
        doc: 'Key with which the web service proves itself, so that the gateway trusts the client address it forwards',
      }),
    })),
    limits: {
      bodyMaxBytes: 1_048_576,
      bodyTimeoutMs: 30_000,
      headerMaxBytes: 16_384,
      headerMaxCount: 100,
      urlMaxBytes: 8_192,
      headersTimeoutMs: 10_000,
      filesIdleMs: 110_000,
      idleTimeoutMs: constant(env, 'idleTimeoutMs', 120_000),
      minDownloadBytesPerSecond: MIN_DOWNLOAD_BYTES_PER_SECOND,
      maxConnections: 10_000,
      tokensPerUser: 100,
      tokenLifetimeDays: 90,
      waitForIndexMs: constant(env, 'waitForIndexMs', 10_000),
      pageMaxSize: 1_000,
    },
    rateLimit: readRateLimit(read),
    overload: {
      maxRequestsInFlight: read.integer('MAX_REQUESTS_IN_FLIGHT', {
        doc: 'Maximum number of concurrent requests, a quarter of them reserved for reads; more are rejected with 503',
        fallback: 256,
        min: 4,
        max: 100_000,
      }),
      maxTransfersInFlight: read.integer('MAX_TRANSFERS_IN_FLIGHT', {
        doc: 'Maximum number of concurrent file transfers; more are rejected with 503. One caller may use 5 % of them (at least 16), anonymous callers 60 % together, downloads 80 %',
        fallback: 1_000,
        min: 1,
        max: 100_000,
      }),
    },
  };
  read.done();
  checkRateLimit(config.rateLimit);
  checkOrigins(config.corsAllowedOrigins);
  checkProxies(config.trustedProxies);
  checkXAccel(config);
  return config;
}

/** All asymmetric algorithms of RFC 7518 and RFC 8037. */
const OIDC_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

function readOidc(read: EnvReader): OidcConfig {
  const issuer = {
    doc: 'Issuer of accepted access tokens (OpenID Connect), exactly as in their `iss`',
  };
  read.url('OIDC_ISSUER', issuer);
  return {
    issuer: read.string('OIDC_ISSUER', issuer),
    audience: read.string('OIDC_AUDIENCE', {
      doc: 'Required `aud` of access tokens',
    }),
    jwksUrl: read.whenSet(['OIDC_JWKS_URL'], () =>
      read.url('OIDC_JWKS_URL', { doc: 'URL of the keys of the issuer; default: from its metadata' }),
    ),
    algorithms: OIDC_ALGORITHMS,
    nameClaim: read.string('OIDC_NAME_CLAIM', {
      doc: 'Claim with the name of new users',
      fallback: 'preferred_username',
    }),
    rolesClaim: read.string('OIDC_ROLES_CLAIM', { doc: "Claim with a user's roles", fallback: 'roles' }),
    adminRole: read.whenSet(['OIDC_ADMIN_ROLE'], () =>
      read.string('OIDC_ADMIN_ROLE', {
        doc: 'Role of administrators; default: only users that an operator made administrators',
      }),
    ),
  };
}

function readRateLimit(read: EnvReader): RateLimitConfig {
  const perMinute = { min: 0, max: 1_000_000 };
  return {
    anonymousPerMinute: read.integer('RATE_LIMIT_ANONYMOUS', {
      doc: 'Requests per minute per anonymous IP address (IPv6: /64); 0 = unlimited',
      fallback: 500,
      ...perMinute,
    }),
    userPerMinute: read.integer('RATE_LIMIT_USER', {
      doc: 'Requests per minute per user; 0 = unlimited',
      fallback: 1_000,
      ...perMinute,
    }),
    failedCredentialsPerMinute: read.integer('RATE_LIMIT_FAILED_CREDENTIALS', {
      doc: 'Requests per minute with invalid credentials per IP address (IPv6: /64); 0 = unlimited',
      fallback: 60,
      ...perMinute,
    }),
    burstMinutes: 2,
    weights: {
      search: 5,
      publish: 10,
      auditLog: 5,
    },
  };
}

function checkRateLimit({ anonymousPerMinute, userPerMinute, burstMinutes, weights }: RateLimitConfig): void {
  const minimum = Math.ceil(Math.max(...Object.values(weights)) / burstMinutes);
  const limits = { RATE_LIMIT_ANONYMOUS: anonymousPerMinute, RATE_LIMIT_USER: userPerMinute };
  const tooSmall = Object.entries(limits).filter(([, perMinute]) => perMinute !== 0 && perMinute < minimum);
  if (tooSmall.length === 0) return;
  throw new ConfigError(
    tooSmall.map(([name]) => `${name} is less than ${minimum}, the cost of one request; 0 = unlimited`),
  );
}

function checkXAccel({ xAccel, trustedProxies }: GatewayConfig): void {
  if (xAccel && trustedProxies.length === 0)
    throw new ConfigError([
      'FILES_X_ACCEL is true, but TRUSTED_PROXIES is empty; name the proxy that sends files',
    ]);
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
