import { Agent } from 'undici';

/** One answer, or none, and how long it took from when it was due. */
export interface Answered {
  /** 0: there was none. */
  status: number;
  /** Milliseconds. */
  took: number;
  retryAfter: string | undefined;
  text: string;
}

export interface Asked {
  method: 'GET' | 'POST' | 'PUT';
  path: string;
  token?: string | undefined;
  /** JSON unless bytes. */
  body?: string | Buffer;
}

export interface TimedClient {
  ask(asked: Asked): Promise<Answered>;
  /**
   * Opens all connections in advance. A busy Node process accepts one per turn of its event loop, and the measured
   * requests are those of connected clients, as with a proxy in front of a gateway.
   */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

const LONGEST_MS = 30_000;

/** Sends one request a connection at a time; answers of any status are answers. */
export function timedClient(baseUrl: string, { connections = 256 } = {}): TimedClient {
  const agent = new Agent({
    connections,
    pipelining: 1,
    headersTimeout: LONGEST_MS,
    bodyTimeout: LONGEST_MS,
  });
  return {
    async ask({ method, path, token, body }) {
      const began = performance.now();
      const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream';
      try {
        const answer = await agent.request({
          origin: baseUrl,
          method,
          path,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { 'content-type': type }),
          },
          body: body ?? null,
        });
        const text = await answer.body.text();
        const retryAfter = answer.headers['retry-after']?.toString();
        return { status: answer.statusCode, took: performance.now() - began, retryAfter, text };
      } catch (thrown) {
        return { status: 0, took: performance.now() - began, retryAfter: undefined, text: String(thrown) };
      }
    },
    async warmUp() {
      const pings = Array.from({ length: connections }, async () => {
        const answer = await agent.request({ origin: baseUrl, method: 'GET', path: '/api/ping' });
        await answer.body.dump();
      });
      await Promise.all(pings);
    },
    close: () => agent.destroy(),
  };
}
