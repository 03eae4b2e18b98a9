import { Pool } from 'undici';

/** Sends JSON requests over kept-alive connections; throws on anything but a 2xx. */
export interface JsonClient {
  send(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown): Promise<unknown>;
  /** As `send`, but only counts the bytes of the answer, so that the client's parsing is not measured. */
  drain(method: 'GET' | 'POST' | 'PUT', path: string, body?: string | Buffer): Promise<void>;
  close(): Promise<void>;
}

export function jsonClient(
  baseUrl: string,
  token?: string,
  further: Readonly<Record<string, string>> = {},
): JsonClient {
  const pool = new Pool(baseUrl, { connections: 64 });
  const headers = {
    accept: 'application/json',
    ...further,
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const request = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: string | Buffer) => {
    const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
    const answer = await pool.request({
      method,
      path,
      headers: body === undefined ? headers : { ...headers, 'content-type': type },
      body: body ?? null,
    });
    if (answer.statusCode >= 300) {
      throw new Error(`${method} ${path} answered ${answer.statusCode}: ${await answer.body.text()}`);
    }
    return answer;
  };
  return {
    async send(method, path, body) {
      const answer = await request(method, path, body === undefined ? undefined : JSON.stringify(body));
      const text = await answer.body.text();
      return text === '' ? undefined : JSON.parse(text);
    },
    async drain(method, path, body) {
      const answer = await request(method, path, body);
      await answer.body.dump();
    },
    close: () => pool.close(),
  };
}
