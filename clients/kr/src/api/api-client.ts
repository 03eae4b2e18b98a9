import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, getGlobalDispatcher, interceptors, request } from 'undici';
import { CliError } from '../cli-error.ts';
import type { Settings } from '../settings/settings.ts';
import { toApiError } from './api-error.ts';
import { uploadFile } from './resumable-upload.ts';
import { retryDelayMs, type Setback } from './retry-delay.ts';

export interface ApiClientOptions extends Settings {
  /** Called before each wait for another attempt. */
  onRetry?: (reason: string, waitMs: number) => void;
  /** Cancels running requests. */
  signal: AbortSignal;
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A path of the service, or a link of one of its answers. */
  target: string;
  query?: Readonly<Record<string, string>>;
  json?: unknown;
  /** Whether it may be sent again when its answer was lost (default: GET, PUT and DELETE). */
  isRepeatable?: boolean;
}

/** The public REST API as one caller sees it. */
export interface ApiClient {
  baseUrl: URL;
  /** The JSON answer; undefined when it has no body. @throws ApiError for refusals of the service */
  call<Answer>(request: ApiRequest): Promise<Answer>;
  /** The body of an answer, as a stream that continues where a connection broke. */
  open(target: string): Promise<Readable>;
  /** Uploads a file to a tus endpoint, and continues where a connection broke. `advance` gets the number of bytes sent. */
  upload(target: string, path: string, advance: (bytes: number) => void): Promise<void>;
}

// Publishing many resources takes long; a file may arrive slowly but must not stall.
const ANSWER_TIMEOUT_MS = 180_000;
const STALL_TIMEOUT_MS = 60_000;

/**
 * A client that retries on 429 and 503, and on lost connections where a repetition is harmless. Links are
 * followed at the base URL, on any host that they name: the token is sent nowhere else.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  return {
    baseUrl: options.baseUrl,
    call: <Answer>(request: ApiRequest): Promise<Answer> =>
      attempt(options, request, async ({ body }) => {
        const text = await body.text();
        return (text === '' ? undefined : parseJson(text, request)) as Answer;
      }),
    open: async (target) => {
      const dispatcher = getGlobalDispatcher().compose(
        interceptors.retry({ retry: retryPolicy(options), statusCodes: [429, 503], throwOnError: false }),
      );
      const outcome = await send(options, { method: 'GET', target, dispatcher }, async ({ body }) => body);
      if ('value' in outcome) return outcome.value;
      throw outcome.failure;
    },
    upload: (target, path, advance) =>
      uploadFile(
        {
          ...options,
          endpoint: target,
          resolveUrl: (url) => urlOf(options, { target: url }),
          headers: headersOf({ method: 'POST', target }, options.token),
        },
        path,
        advance,
      ),
  };
}

/** The rules of `attempt`, for undici, which continues a response by `Range` if its ETag is the same. */
function retryPolicy({ onRetry }: ApiClientOptions) {
  return (
    error: RetryError,
    { state }: { state: { counter: number } },
    done: (error: Error | null) => void,
  ) => {
    const { statusCode: status, headers } = error;
    const retryAfter = headers?.['retry-after'];
    const setback: Setback = status === undefined ? { status, isSent: true } : { status, retryAfter };
    const waitMs = retryDelayMs(setback, { attempt: state.counter, isRepeatable: true });
    if (waitMs === undefined) return done(error);
    onRetry?.(status === undefined ? reasonOf(error) : `the service answered ${status}`, waitMs);
    return setTimeout(() => done(null), waitMs);
  };
}

type RetryError = Error & { statusCode?: number; headers?: Record<string, string> };

type Read<T> = (response: Dispatcher.ResponseData) => Promise<T>;

async function attempt<T>(options: ApiClientOptions, request: ApiRequest, read: Read<T>): Promise<T> {
  const isRepeatable = request.isRepeatable ?? request.method !== 'POST';
  for (let count = 1; ; count += 1) {
    const outcome = await send(options, request, read);
    if ('value' in outcome) return outcome.value;
    const waitMs = retryDelayMs(outcome.setback, { attempt: count, isRepeatable });
    if (waitMs === undefined) throw outcome.failure;
    options.onRetry?.(outcome.reason, waitMs);
    await delay(waitMs, undefined, { signal: options.signal });
  }
}

type Outcome<T> = { value: T } | { setback: Setback; reason: string; failure: CliError };

async function send<T>(
  options: ApiClientOptions,
  { dispatcher, ...apiRequest }: ApiRequest & { dispatcher?: Dispatcher },
  read: Read<T>,
): Promise<Outcome<T>> {
  const { baseUrl, token, tokenFrom, linkToken, signal } = options;
  const url = urlOf(options, apiRequest);
  try {
    const response = await request(url, {
      method: apiRequest.method,
      headers: headersOf(apiRequest, token),
      body: apiRequest.json === undefined ? null : JSON.stringify(apiRequest.json),
      signal,
      headersTimeout: ANSWER_TIMEOUT_MS,
      bodyTimeout: STALL_TIMEOUT_MS,
      ...(dispatcher && { dispatcher }),
    });
    const { statusCode: status, headers, body } = response;
    if (status < 300) return { value: await read(response) };
    const retryAfter = headers['retry-after'];
    return {
      setback: { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined },
      reason: `the service answered ${status}`,
      failure: toApiError(`${apiRequest.method} ${url.pathname}`, status, await body.text(), {
        token: tokenFrom,
        hasLink: linkToken !== undefined,
      }),
    };
  } catch (error) {
    if (error instanceof CliError || signal.aborted) throw error;
    const reason = reasonOf(error);
    const failure = unreachable(baseUrl, reason);
    return { setback: { status: undefined, isSent: !isConnectError(error) }, reason, failure };
  }
}

/** The message when there was no connection; a local system may not have been started. */
export function unreachable({ origin, hostname }: URL, reason: string): CliError {
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const advice =
    isLocal && reason.includes('ECONNREFUSED')
      ? '\nNothing listens there. `npm start` starts a local system.'
      : '';
  return new CliError(`${origin} cannot be reached: ${reason}${advice}`);
}

function urlOf({ baseUrl, linkToken }: ApiClientOptions, request: Pick<ApiRequest, 'target' | 'query'>): URL {
  const url = locate(baseUrl, request);
  if (linkToken !== undefined) url.searchParams.set('token', linkToken);
  return url;
}

/** The address of a path or link below the base URL. */
export function locate(baseUrl: URL, { target, query }: Pick<ApiRequest, 'target' | 'query'>): URL {
  const named = new URL(target, baseUrl);
  const url = new URL(baseUrl);
  const prefix = baseUrl.pathname.replace(/\/$/, '');
  url.pathname = named.pathname.startsWith(`${prefix}/`) ? named.pathname : `${prefix}${named.pathname}`;
  url.search = named.search;
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value);
  return url;
}

function headersOf({ json }: ApiRequest, token: string | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    ...(token === undefined
      ? {}
      : { authorization: `${isLinkToken(token) ? 'AccessLink' : 'Bearer'} ${token}` }),
    ...(json === undefined ? {} : { 'content-type': 'application/json' }),
  };
}

/** Whether it is the token of an access link, which needs another scheme. */
function isLinkToken(token: string): boolean {
  return token.startsWith('kl1_');
}

function parseJson(text: string, { method, target }: ApiRequest): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError(`${method} ${target} did not return JSON: check the base URL`);
  }
}

const CONNECT_ERRORS = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

function isConnectError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isConnectError);
  return error instanceof Error && 'code' in error && CONNECT_ERRORS.includes(String(error.code));
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
