/** Account of a repository at DataCite. */
export interface DataciteAccount {
  /** Of the REST API, such as `https://api.datacite.org`. */
  url: URL;
  /** Such as `EXAMPLE.REPOSITORY`. */
  repository: string;
  password: string;
}

/** Attributes of a DOI that are compared. */
export interface RegisteredDoi {
  state: string;
  url: string;
}

/** `publish` and `show` make a DOI findable, `hide` makes it registered. */
export interface DoiUpdate {
  event: 'publish' | 'hide';
  attributes: Readonly<Record<string, unknown>>;
}

/** Calls of the REST API of DataCite (https://support.datacite.org/docs/api). */
export interface DataciteClient {
  /** Creates or updates a DOI. @throws DataciteError */
  put(doi: string, update: DoiUpdate): Promise<void>;
  /** Undefined when DataCite has no such DOI. @throws DataciteError */
  get(doi: string): Promise<RegisteredDoi | undefined>;
}

/** A call that DataCite refused, or did not answer. */
export class DataciteError extends Error {
  /** Whether the same call may succeed later. */
  readonly isTemporary: boolean;
  /** Milliseconds to wait at least; 0: unknown. */
  readonly retryAfterMs: number;

  constructor(
    message: string,
    {
      isTemporary,
      retryAfterMs = 0,
      cause,
    }: { isTemporary: boolean; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, { cause });
    this.isTemporary = isTemporary;
    this.retryAfterMs = retryAfterMs;
  }
}

const TIMEOUT_MS = 30_000;
const MEDIA_TYPE = 'application/vnd.api+json';
/** Wrong credentials, timeouts and too many calls end without a change of the entity. */
const TEMPORARY = [401, 408, 429];
const MAX_ERROR_LENGTH = 2_000;

export function dataciteClient({ url, repository, password }: DataciteAccount): DataciteClient {
  const authorization = `Basic ${Buffer.from(`${repository}:${password}`).toString('base64')}`;
  const base = url.href.replace(/\/$/, '');

  async function call(method: 'GET' | 'PUT', doi: string, body?: unknown): Promise<Response> {
    try {
      return await fetch(`${base}/dois/${doi.split('/').map(encodeURIComponent).join('/')}`, {
        method,
        headers: {
          accept: MEDIA_TYPE,
          authorization,
          ...(body === undefined ? {} : { 'content-type': MEDIA_TYPE }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (cause) {
      throw new DataciteError(`DataCite does not answer: ${reasonOf(cause)}`, { isTemporary: true, cause });
    }
  }

  return {
    async put(doi, { event, attributes }) {
      const data = { type: 'dois', id: doi, attributes: { ...attributes, doi, event } };
      const response = await call('PUT', doi, { data });
      if (!response.ok) throw await refusal(response);
      await response.body?.cancel();
    },
    async get(doi) {
      const response = await call('GET', doi);
      if (response.status === 404) {
        await response.body?.cancel();
        return undefined;
      }
      if (!response.ok) throw await refusal(response);
      const { data } = await readJson(response);
      const { state, url: target } = data?.attributes ?? {};
      return { state: String(state), url: String(target) };
    },
  };
}

interface Answer {
  data?: { attributes?: { state?: unknown; url?: unknown } };
  errors?: readonly { source?: string; title?: string; detail?: string }[];
}

async function readJson(response: Response): Promise<Answer> {
  try {
    return (await response.json()) as Answer;
  } catch (cause) {
    throw new DataciteError(`DataCite's answer could not be read: ${reasonOf(cause)}`, {
      isTemporary: true,
      cause,
    });
  }
}

async function refusal(response: Response): Promise<DataciteError> {
  const { status, headers } = response;
  const isTemporary = status >= 500 || TEMPORARY.includes(status);
  const retryAfterMs = 1_000 * (Number(headers.get('retry-after')) || 0);
  const text = await response.text().catch(() => '');
  const message = `${status}: ${errorsIn(text).join('; ') || response.statusText}`.slice(0, MAX_ERROR_LENGTH);
  return new DataciteError(message, { isTemporary, retryAfterMs });
}

/** `field: problem`, as DataCite names them. */
function errorsIn(text: string): string[] {
  try {
    const { errors = [] } = JSON.parse(text) as Answer;
    return errors.map(({ source, title, detail }) =>
      [source, title ?? detail].filter((part) => part !== undefined).join(': '),
    );
  } catch {
    return text === '' ? [] : [text];
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
