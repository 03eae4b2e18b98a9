import {
  boolean,
  constant,
  type Environment,
  group,
  integer,
  list,
  MIN_DOWNLOAD_BYTES_PER_SECOND,
  NATS_URL,
  optional,
  peerFields,
  portField,
  readEnvironment,
  rpcDeadlineMs,
  SERVICE_FIELDS,
  secret,
  serviceConfig,
  text,
  titled,
  url,
  VOCABULARY_DIR,
  variables,
  whenSet,
} from '@kr/service-config';
import proxyAddr from 'proxy-addr';

/** A publish may take this many times the RPC deadline, because a package may publish many resources with it. */
export const PUBLISH_TIMEOUT_FACTOR = 12;

/** The configuration of the gateway. Times are in milliseconds. */
export type GatewayConfig = ReturnType<typeof readConfig>;
export type HttpLimits = GatewayConfig['limits'];
export type OidcConfig = NonNullable<GatewayConfig['oidc']>;
export type RateLimitConfig = GatewayConfig['rateLimit'];
export type OverloadConfig = GatewayConfig['overload'];

const HTTP = variables(
  {
    HTTP_HOST: text({ doc: 'Address of the public port', fallback: '127.0.0.1' }),
    HTTP_PORT: portField({ doc: 'Port of the public API', fallback: 8080 }),
    PUBLIC_BASE_URL: optional(url({ doc: 'Base URL of links; default: the host of each request' })),
    TRUSTED_PROXIES: list({
      doc: 'Proxies whose `X-Forwarded-…` headers are trusted: addresses, ranges or `loopback`',
      fallback: [],
      check: problemOfProxies,
    }),
    CORS_ALLOWED_ORIGINS: list({
      doc: 'Origins that browsers may send requests from, such as `https://portal.example.org`; `*` = all',
      fallback: [],
      check: problemOfOrigins,
    }),
    FILES_X_ACCEL: boolean({
      doc: 'Trusted proxies send files themselves, by `X-Accel-Redirect` ([files.md](files.md))',
      fallback: false,
    }),
  },
  ({ FILES_X_ACCEL, TRUSTED_PROXIES }) =>
    FILES_X_ACCEL && TRUSTED_PROXIES.length === 0
      ? ['FILES_X_ACCEL is true, but TRUSTED_PROXIES is empty; name the proxy that sends files']
      : [],
);

const SERVICE = variables({
  ...SERVICE_FIELDS,
  // Without it changes made by other gateways are visible a second later.
  NATS_URL: optional(NATS_URL),
  SEALING_KEY: secret({
    doc: 'Key that encrypts the stored answers of requests with an `Idempotency-Key`',
  }),
  ...peerFields('RECORDS'),
  ...peerFields('PACKAGES'),
  ...peerFields('FILES'),
  ...peerFields('ACCESS_LINKS'),
  ...peerFields('SEARCH'),
  FILES_CONTENT_URL: url({ doc: 'Base URL of the content port of the files service' }),
  VOCABULARY_DIR,
});

const WEB = variables({
  WEB_URL: url({ doc: 'Internal URL of the web service, which serves the pages; default: no pages' }),
  WEB_KEY: secret({
    doc: 'Key that authenticates the web service, so that the gateway trusts its `X-Forwarded-…` headers',
  }),
});

const COSTS = { search: 5, publish: 10, auditLog: 5 };
const BURST_MINUTES = 2;
/** The smallest rate at which every request is possible. */
const MIN_RATE = Math.ceil(Math.max(...Object.values(COSTS)) / BURST_MINUTES);

const perMinute = { min: 0, max: 1_000_000 };
const perMinuteOrNone = {
  ...perMinute,
  check: (rate: number) =>
    rate !== 0 && rate < MIN_RATE
      ? `is less than ${MIN_RATE}, the cost of one request; 0 = unlimited`
      : undefined,
};

const LIMITS = variables({
  RATE_LIMIT_ANONYMOUS: integer({
    doc: 'Requests per minute per anonymous IP address (IPv6: /64); 0 = unlimited',
    fallback: 500,
    ...perMinuteOrNone,
  }),
  RATE_LIMIT_USER: integer({
    doc: 'Requests per minute per user; 0 = unlimited',
    fallback: 1_000,
    ...perMinuteOrNone,
  }),
  RATE_LIMIT_FAILED_CREDENTIALS: integer({
    doc: 'Requests per minute with invalid credentials per IP address (IPv6: /64); 0 = unlimited',
    fallback: 60,
    ...perMinute,
  }),
  MAX_REQUESTS_IN_FLIGHT: integer({
    doc: 'Maximum number of concurrent requests, a quarter of them reserved for reads; more are rejected with 503',
    fallback: 256,
    min: 4,
    max: 100_000,
  }),
  MAX_TRANSFERS_IN_FLIGHT: integer({
    doc: 'Maximum number of concurrent file transfers; more are rejected with 503. One caller may use 5 % of them (at least 16), anonymous callers 60 % together, downloads 80 %',
    fallback: 1_000,
    min: 1,
    max: 100_000,
  }),
});

const OIDC = variables({
  OIDC_ISSUER: text({
    doc: 'Issuer URL of accepted access tokens (OpenID Connect), exactly as in their `iss`',
    check: (value) => (URL.canParse(value) ? undefined : 'is not a URL'),
  }),
  OIDC_AUDIENCE: text({ doc: 'Required `aud` of access tokens' }),
  OIDC_NAME_CLAIM: text({ doc: 'Claim with the name of new users', fallback: 'preferred_username' }),
  OIDC_ROLES_CLAIM: text({ doc: "Claim with a user's roles", fallback: 'roles' }),
  OIDC_ADMIN_ROLE: optional(
    text({ doc: 'Role of administrators; default: only users that an operator made administrators' }),
  ),
});

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

export const VARIABLES = group({
  http: titled('Public port', HTTP),
  service: SERVICE,
  web: titled('Pages', whenSet(['WEB_URL'], WEB)),
  limits: titled('Limits', LIMITS),
  oidc: titled('Sign-in with OpenID Connect', whenSet(['OIDC_ISSUER'], OIDC)),
});

/** @throws ConfigError naming every problem found */
export function readConfig(env: Environment) {
  const { http, service, web, limits, oidc } = readEnvironment(env, VARIABLES);
  return {
    ...serviceConfig(service),
    httpHost: http.HTTP_HOST,
    httpPort: http.HTTP_PORT,
    publicBaseUrl: http.PUBLIC_BASE_URL,
    trustedProxies: http.TRUSTED_PROXIES,
    corsAllowedOrigins: http.CORS_ALLOWED_ORIGINS,
    xAccel: http.FILES_X_ACCEL,
    natsUrl: service.NATS_URL,
    sealingKey: service.SEALING_KEY,
    rpcDeadlineMs: rpcDeadlineMs(env),
    services: {
      records: { address: service.RECORDS_ADDRESS, key: service.RECORDS_KEY },
      packages: { address: service.PACKAGES_ADDRESS, key: service.PACKAGES_KEY },
      files: { address: service.FILES_ADDRESS, key: service.FILES_KEY },
      accessLinks: { address: service.ACCESS_LINKS_ADDRESS, key: service.ACCESS_LINKS_KEY },
      search: { address: service.SEARCH_ADDRESS, key: service.SEARCH_KEY },
    },
    filesContentUrl: service.FILES_CONTENT_URL,
    vocabularyDir: service.VOCABULARY_DIR,
    web: web && { url: web.WEB_URL, key: web.WEB_KEY },
    oidc: oidc && {
      issuer: oidc.OIDC_ISSUER,
      audience: oidc.OIDC_AUDIENCE,
      algorithms: OIDC_ALGORITHMS,
      nameClaim: oidc.OIDC_NAME_CLAIM,
      rolesClaim: oidc.OIDC_ROLES_CLAIM,
      adminRole: oidc.OIDC_ADMIN_ROLE,
    },
    limits: {
      // Of JSON bodies. Files have no limits here.
      bodyMaxBytes: 1_048_576,
      bodyTimeoutMs: 30_000,
      // The request line included.
      headerMaxBytes: 16_384,
      headerMaxCount: 100,
      urlMaxBytes: 8_192,
      headersTimeoutMs: 10_000,
      // Less than the idle timeout, so that clients get an error.
      filesIdleMs: 110_000,
      // Between two authorisations of a running transfer.
      recheckTransfersMs: 30_000,
      // Of a connection in the middle of a request; more than the timeout of a publish.
      idleTimeoutMs: constant(env, 'idleTimeoutMs', 120_000),
      minDownloadBytesPerSecond: MIN_DOWNLOAD_BYTES_PER_SECOND,
      maxConnections: 10_000,
      tokensPerUser: 100,
      tokenLifetimeDays: 90,
      waitForIndexMs: constant(env, 'waitForIndexMs', 10_000),
      pageMaxSize: 1_000,
    },
    rateLimit: {
      anonymousPerMinute: limits.RATE_LIMIT_ANONYMOUS,
      userPerMinute: limits.RATE_LIMIT_USER,
      failedCredentialsPerMinute: limits.RATE_LIMIT_FAILED_CREDENTIALS,
      burstMinutes: BURST_MINUTES,
      costs: COSTS,
    },
    overload: {
      maxRequestsInFlight: limits.MAX_REQUESTS_IN_FLIGHT,
      maxTransfersInFlight: limits.MAX_TRANSFERS_IN_FLIGHT,
    },
  };
}

function problemOfOrigins(origins: readonly string[]): string | undefined {
  if (origins.length === 1 && origins[0] === '*') return undefined;
  const bad = origins.filter((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  return bad.length === 0
    ? undefined
    : `has ${bad.join(', ')}: must be origins such as https://portal.example.org, or * alone`;
}

function problemOfProxies(proxies: readonly string[]): string | undefined {
  try {
    proxyAddr.compile([...proxies]);
    return undefined;
  } catch (cause) {
    return `is not valid: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}
