import { Failure } from '../failure.ts';

/** A service and, unless calls are to be anonymous, the token for it. */
export interface Settings {
  baseUrl: URL;
  token: string | undefined;
}

/** A base URL with the token that belongs to it, from wherever it was found. */
export interface Login {
  baseUrl?: string | undefined;
  token?: string | undefined;
}

/**
 * The settings in effect. Options go before the environment, then the stored login, then the local system; a token
 * that was kept with a base URL is only used for that one.
 *
 * @throws Failure when no source names a base URL, or it is no HTTP URL
 */
export function settingsFrom(sources: {
  given: Login;
  environment: Login;
  kept: readonly Login[];
}): Settings {
  const { given, environment, kept } = sources;
  const named =
    given.baseUrl ?? environment.baseUrl ?? kept.find(({ baseUrl }) => baseUrl !== undefined)?.baseUrl;
  if (named === undefined) {
    throw new Failure('No service is known. `kr login --base-url URL` stores one, or set KR_BASE_URL.');
  }
  const baseUrl = parseBaseUrl(named);
  const matching = kept.find(
    (login) => login.baseUrl !== undefined && parseBaseUrl(login.baseUrl).href === baseUrl.href,
  );
  return { baseUrl, token: given.token ?? environment.token ?? matching?.token };
}

/** @throws Failure when it is no HTTP URL */
function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Failure(`"${text}" is not a base URL; it looks like https://repository.example`);
  }
  url.search = '';
  url.hash = '';
  return url;
}
