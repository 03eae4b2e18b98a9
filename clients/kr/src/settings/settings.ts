import { CliError } from '../cli-error.ts';

/** A service and the credentials for it; calls without any are anonymous. */
export interface Settings {
  baseUrl: URL;
  token: string | undefined;
  /** The option, variable or file that the token comes from. */
  tokenFrom?: string | undefined;
  /** Token of an access link, sent besides the other one. */
  linkToken?: string | undefined;
}

/** A base URL with the token that belongs to it. */
export interface Login {
  baseUrl?: string | undefined;
  token?: string | undefined;
  /** The option, variable or file that names both. */
  from: string;
}

/** The parts of a link to an entity beside its id. */
export interface LinkedService {
  /** Undefined if the link is not one of a repository, such as a DOI. */
  baseUrl?: string | undefined;
  /** Token of an access link. */
  token?: string | undefined;
}

/**
 * The settings in effect. Options go before the environment, then the link that the command is about, then the stored
 * login, then the local system. A stored token is only sent to the base URL it was stored with, and a token of the
 * environment never to a base URL that only a link names.
 *
 * @throws CliError when no source names a base URL, or it is no HTTP URL
 */
export function settingsFrom(sources: {
  options: Login;
  environment: Login;
  stored: readonly Login[];
  /** Base URL of a link. */
  link?: string | undefined;
}): Settings {
  const { options, environment, stored, link } = sources;
  const logins = stored.filter(({ baseUrl }) => baseUrl !== undefined);
  const linked = logins.find(({ baseUrl = '' }) => isSameService(baseUrl, link))?.baseUrl ?? link;
  const named = options.baseUrl ?? environment.baseUrl ?? linked ?? logins[0]?.baseUrl;
  if (named === undefined) {
    throw new CliError(
      'No repository is configured. Store one with `kr login --base-url URL`, or set KR_BASE_URL.',
    );
  }
  const baseUrl = parseBaseUrl(named);
  const matching = logins.find((login) => parseBaseUrl(login.baseUrl ?? '').href === baseUrl.href);
  const isNamedByLinkOnly =
    options.baseUrl === undefined && environment.baseUrl === undefined && link === named;
  const source = [
    options,
    isNamedByLinkOnly && matching === undefined ? undefined : environment,
    matching,
  ].find((login) => login?.token !== undefined);
  return { baseUrl, token: source?.token, tokenFrom: source?.from };
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether both name one service; a local system has several names. */
function isSameService(one: string, other: string | undefined): boolean {
  if (other === undefined) return false;
  const [a, b] = [parseBaseUrl(one), parseBaseUrl(other)];
  const isSameHost = LOOPBACK.includes(a.hostname)
    ? LOOPBACK.includes(b.hostname)
    : a.hostname === b.hostname;
  return isSameHost && a.protocol === b.protocol && a.port === b.port;
}

/** @throws CliError when it is no HTTP URL */
function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new CliError(`"${text}" is not a base URL; it looks like https://repository.example`);
  }
  url.search = '';
  url.hash = '';
  return url;
}
