import type { Principal } from '@kr/caller';
import { type Client, createClient, type Handlers, type Server, serve } from '@kr/rpc';
import { createLogger } from '@kr/telemetry';

/** A call that passed through a relay. */
export interface Message {
  callee: string;
  method: string;
  /** Repeats a call as its original caller. Returns the reply or the error. */
  repeat(): Promise<unknown>;
}

interface RelayOptions {
  /** The service that is called. */
  callee: string;
  /** The caller through the relay. */
  caller: string;
  /** `host:port` of it. */
  address: string;
  /** The secret that they share. */
  key: string;
  definitions: readonly object[];
  /** Which calls are sent twice, one after the other, and kept. */
  isKept: (method: string) => boolean;
  onMessage: (message: Message) => void;
}

/**
 * A proxy between a caller and a gRPC service. Every recorded call arrives
 * there twice; the caller gets the first reply.
 */
export async function startRelay(options: RelayOptions): Promise<{ address: string; stop(): Promise<void> }> {
  const clients: Client<object>[] = [];
  const services = options.definitions.map((definition) => {
    const client = createClient(definition, {
      address: options.address,
      audience: options.callee,
      caller: options.caller,
      key: options.key,
    });
    clients.push(client);
    return {
      definition,
      handlers: relayed(definition, client, options),
      callers: { [options.caller]: 'all' as const },
    };
  });
  const server: Server = await serve({
    services,
    host: '127.0.0.1',
    port: 0,
    audience: options.callee,
    callerKeys: new Map([[options.caller, options.key]]),
    logger: createLogger('relay'),
  });
  return {
    address: `127.0.0.1:${server.port}`,
    stop: async () => {
      await server.stop();
      for (const client of clients) client.close();
    },
  };
}

type AnyClient = Record<string, (request: object, principal: Principal) => Promise<object>>;

function relayed(
  definition: object,
  client: Client<object>,
  { callee, isKept, onMessage }: RelayOptions,
): Handlers<object> {
  const handlers = Object.keys(definition).map((method) => [
    method,
    async (request: object, { principal }: { principal: Principal }) => {
      // The names of a definition and of its client are the same but for the first letter.
      const name = method.charAt(0).toLowerCase() + method.slice(1);
      const send = (client as unknown as AnyClient)[name];
      if (send === undefined) throw new Error(`${callee} has no ${method}`);
      if (!isKept(method)) return send(request, principal);
      const repeat = (): Promise<unknown> => send(request, principal).catch((thrown: unknown) => thrown);
      onMessage({ callee, method, repeat });
      const reply = await send(request, principal);
      await repeat();
      return reply;
    },
  ]);
  return Object.fromEntries(handlers) as Handlers<object>;
}
