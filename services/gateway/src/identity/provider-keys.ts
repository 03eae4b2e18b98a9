import type { Logger } from '@kr/telemetry';
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { isObject } from '../http/body.ts';

export interface ProviderKeysOptions {
  /** The issuer of the provider; its metadata are below this URL (OpenID Connect Discovery, section 4). */
  issuer: string;
  logger: Logger;
}

type FindKey = ReturnType<typeof createRemoteJWKSet>;

/** The public keys of an identity provider, as it publishes them. */
export interface ProviderKeys {
  /** @throws ProviderUnavailableError: no keys are cached and the provider does not answer */
  find: JWTVerifyGetKey;
  stop(): void;
}

/** No keys are cached, and the provider does not answer. */
export class ProviderUnavailableError extends Error {
  constructor(cause: unknown) {
    super('the identity provider does not answer', { cause });
    this.name = 'ProviderUnavailableError';
  }
}

/** Milliseconds after which cached keys are fetched again, so that withdrawn ones expire. */
const REFRESH_MS = 600_000;
/** The shortest interval between requests to the provider, in milliseconds, for any number of tokens. */
const PAUSE_MS = 30_000;
const TIMEOUT_MS = 5_000;

/** Keys that are fetched when first needed and stay cached while the provider does not answer. */
export function providerKeys({ issuer, logger }: ProviderKeysOptions): ProviderKeys {
  let keys: FindKey | undefined;
  let opening: Promise<FindKey> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;

  // After a failure, unknown keys cause no request until the interval has passed.
  const fetchJson = async (
    url: string,
    isValid: (answer: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>> => {
    if (performance.now() - failedAt < PAUSE_MS) throw new ProviderUnavailableError(failure);
    try {
      const response = await fetch(url, {
        headers: { accept: 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      const answer: unknown = await response.json();
      if (isObject(answer) && isValid(answer)) return answer;
      throw new Error(`the answer of ${url} is not of ${issuer}`);
    } catch (cause) {
      failedAt = performance.now();
      failure = cause;
      logger.warn({ err: cause, issuer }, 'the identity provider does not answer');
      throw new ProviderUnavailableError(cause);
    }
  };

  const locate = async (): Promise<URL> => {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const isValid = (metadata: Record<string, unknown>) =>
      metadata['issuer'] === issuer && URL.canParse(String(metadata['jwks_uri']));
    return new URL(String((await fetchJson(url, isValid))['jwks_uri']));
  };
  const open = async (): Promise<FindKey> => {
    opening ??= locate()
      .then((url) =>
        createRemoteJWKSet(url, {
          cooldownDuration: PAUSE_MS,
          // They are refreshed below; until that succeeds the cached ones are valid.
          cacheMaxAge: Number.POSITIVE_INFINITY,
          [customFetch]: async (address) =>
            Response.json(await fetchJson(address, ({ keys: found }) => Array.isArray(found))),
        }),
      )
      .finally(() => {
        opening = undefined;
      });
    keys = await opening;
    return keys;
  };

  const refreshing = setInterval(() => {
    // The failure was logged, and the cached keys stay valid.
    keys?.reload().catch(() => undefined);
  }, REFRESH_MS);
  refreshing.unref();
  return {
    find: async (header, token) => (keys ?? (await open()))(header, token),
    stop: () => clearInterval(refreshing),
  };
}
