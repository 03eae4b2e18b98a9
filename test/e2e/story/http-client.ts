import { comingBack } from './come-back.ts';

/** One answer of the system, its body as bytes, as text and, where it is JSON, decoded. */
export interface Answer<Body> {
  status: number;
  headers: Headers;
  bytes: Buffer;
  text: string;
  body: Body;
}

export interface Sent {
  json?: unknown;
  bytes?: Uint8Array;
  /** A body as it is, JSON or not. */
  raw?: string;
  headers?: Readonly<Record<string, string>>;
  timeoutMs?: number;
}

/** Speaks plain HTTP to one system as one caller, as any client would. */
export interface HttpClient {
  /**
   * `target` is a path below `/api` or a whole URL, as links are. Retries on request, as clients should: a
   * loaded machine may not finish in time.
   */
  call<Body = unknown>(method: string, target: string, sent?: Sent): Promise<Answer<Body>>;
  /** As `call`, but gives the body alone. @throws Error when the answer is not a success */
  sure<Body = unknown>(method: string, target: string, sent?: Sent): Promise<Body>;
}

type Call = HttpClient['call'];

export function httpClient(baseUrl: string, token?: string): HttpClient {
  return clientOf(comingBackFrom(onceTo(baseUrl, token)));
}

/** For tests of every single try: `call` returns every answer unchanged. */
export function oneTryClient(baseUrl: string, token?: string): HttpClient {
  const call = onceTo(baseUrl, token);
  return { ...clientOf(comingBackFrom(call)), call };
}

function clientOf(call: Call): HttpClient {
  return {
    call,
    async sure<Body>(method: string, target: string, sent?: Sent) {
      const answer = await call<Body>(method, target, sent);
      if (answer.status < 300) return answer.body;
      throw new Error(`${method} ${target} answered ${answer.status}: ${answer.text}`);
    },
  };
}

function comingBackFrom(call: Call): Call {
  return <Body>(method: string, target: string, sent?: Sent) =>
    comingBack(
      () => call<Body>(method, target, sent),
      ({ headers }) => headers.get('retry-after'),
    );
}

function onceTo(baseUrl: string, token: string | undefined): Call {
  return async <Body>(method: string, target: string, sent: Sent = {}): Promise<Answer<Body>> => {
    const url = target.startsWith('http') ? target : `${baseUrl}/api${target}`;
    const { type, content } = bodyOf(sent);
    const answer = await fetch(url, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...sent.headers,
      },
      ...(content === undefined ? {} : { body: content }),
      redirect: 'manual',
      signal: AbortSignal.timeout(sent.timeoutMs ?? 60_000),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = bytes.toString('utf8');
    const isJson = answer.headers.get('content-type')?.includes('json') === true && text !== '';
    // The caller names the shape that it expects; its assertions prove it.
    const body = (isJson ? JSON.parse(text) : undefined) as Body;
    return { status: answer.status, headers: answer.headers, bytes, text, body };
  };
}

function bodyOf({ json, bytes, raw }: Sent): { type?: string; content?: string | Uint8Array<ArrayBuffer> } {
  if (json !== undefined) return { type: 'application/json', content: JSON.stringify(json) };
  if (bytes !== undefined) return { type: 'application/octet-stream', content: new Uint8Array(bytes) };
  return raw === undefined ? {} : { type: 'application/json', content: raw };
}
