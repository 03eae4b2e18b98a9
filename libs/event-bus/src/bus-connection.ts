import type { Logger } from '@kr/telemetry';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { backOffMs, pause, waitAtMost } from './waiting.ts';

export interface BusConnectionOptions {
  /** `nats://` or `tls://` addresses; a user and password in them are used for all. */
  servers: string | URL | readonly string[];
  /** The name of this process on the server. */
  name: string;
  logger: Logger;
}

/** A connection to NATS that outlives every outage of the server. */
export interface BusConnection {
  /** Resolves as soon as the server is reachable, without a time limit. Rejects once closed or aborted. */
  whenUp(signal?: AbortSignal): Promise<NatsConnection>;
  /** For probes. @throws Error when the server cannot be reached */
  check(): Promise<void>;
  /** Calls back each time the server becomes reachable or unreachable. The returned function unsubscribes. */
  onChange(listener: (isUp: boolean) => void): () => void;
  /** Sends buffered messages and disconnects. May be called twice. */
  close(): Promise<void>;
}

/** Connects in the background, so that no service waits for the bus when it starts. */
export function connectBus({ servers, name, logger }: BusConnectionOptions): BusConnection {
  const closing = new AbortController();
  const listeners = new Set<(isUp: boolean) => void>();
  let connection: NatsConnection | undefined;
  let isUp = false;

  const setUp = (value: boolean) => {
    if (isUp === value) return;
    isUp = value;
    if (!closing.signal.aborted)
      logger[value ? 'info' : 'warn']({ bus: name }, value ? 'bus is up' : 'bus is down');
    for (const listener of [...listeners]) listener(value);
  };
  const stayConnected = async () => {
    for (let failures = 1; !closing.signal.aborted; failures += 1) {
      try {
        connection = await connect(connectionOptions(servers, name));
        if (closing.signal.aborted) return await connection.close();
        failures = 0;
        await follow(connection, setUp);
      } catch (error) {
        if (failures === 1) logger.warn({ err: error, bus: name }, 'bus cannot be reached, retrying');
      }
      setUp(false);
      await pause(Math.min(backOffMs(failures + 1), 2_000), closing.signal);
    }
  };
  const running = stayConnected();

  return {
    whenUp: (signal) =>
      new Promise((resolve, reject) => {
        const stop = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
        const answer = () => {
          if (stop.aborted) reject(new Error('the bus connection is closed'));
          else if (isUp && connection !== undefined) resolve(connection);
          else return;
          listeners.delete(answer);
          stop.removeEventListener('abort', answer);
        };
        listeners.add(answer);
        stop.addEventListener('abort', answer);
        answer();
      }),
    check: async () => {
      if (!isUp || connection === undefined) throw new Error('the bus cannot be reached');
      await connection.flush();
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      closing.abort();
      // Draining needs a server.
      if (isUp) await connection?.drain().catch(() => connection?.close());
      else await connection?.close();
      // The server may never answer.
      await waitAtMost(1_000, running);
    },
  };
}

/** Reports connects and disconnects of one connection until it is closed permanently. */
async function follow(connection: NatsConnection, setUp: (isUp: boolean) => void): Promise<void> {
  setUp(true);
  for await (const { type } of connection.status()) {
    if (type === 'disconnect') setUp(false);
    if (type === 'reconnect') setUp(true);
    if (type === 'close') return;
  }
}

// The library's defaults are a ping every two minutes and no reconnect after ten attempts.
export function connectionOptions(servers: BusConnectionOptions['servers'], name: string): ConnectionOptions {
  const urls = (Array.isArray(servers) ? [...servers] : [servers]).map((server) => new URL(String(server)));
  const credentials = urls.find((url) => url.username !== '');
  return {
    servers: urls.map((url) => url.host),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    reconnectJitter: 500,
    ignoreAuthErrorAbort: true,
    pingInterval: 10_000,
    maxPingOut: 2,
    // The library creates an error with an asynchronous stack trace for each publish, which is most of the
    // cost.
    noAsyncTraces: true,
    timeout: 5_000,
    inboxPrefix: `_INBOX_${name}`,
    ...(urls.some((url) => url.protocol === 'tls:') && { tls: {} }),
    ...(credentials && {
      user: decodeURIComponent(credentials.username),
      pass: decodeURIComponent(credentials.password),
    }),
  };
}
