import {
  Server as GrpcServer,
  type handleUnaryCall,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Principal, verifyPrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { type Logger, withRemoteTrace } from '@kr/telemetry';
import { HealthImplementation } from 'grpc-health-check';
import type { CallContext } from './call-context.ts';
import { whileHandling } from './current-call.ts';
import { toStatus } from './error-status.ts';
import { type AnyMethod, type Handlers, methodsOf } from './methods.ts';
import { recordCall } from './observations.ts';
import { PRINCIPAL_METADATA } from './principal-metadata.ts';
import { traceOf } from './trace-metadata.ts';

/** A generated service definition (`definitions` of `@kr/contracts`) with what answers its RPCs. */
export interface ServedService<Definition extends object> {
  definition: Definition;
  handlers: Handlers<Definition>;
}

export interface ServeOptions<Served extends readonly object[]> {
  services: { readonly [Index in keyof Served]: ServedService<Served[Index]> };
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The name that principals must be signed for. */
  audience: string;
  /** The secret that they must be signed with. */
  key: string;
  logger: Logger;
  /** How long running calls may take to finish on `stop`, in milliseconds (default 3000). */
  stopTimeoutMs?: number;
}

export interface Server {
  /** The port that is listened on. */
  port: number;
  /** Refuses new calls, lets running ones finish, then ends those that did not. May be called twice. */
  stop(): Promise<void>;
}

const LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * Serves gRPC, with the standard health service (grpc.health.v1) beside. Each call must have a deadline and carry a
 * principal signed for this server, else its handler is not run. What a handler throws becomes the status of the
 * call; only what is not a ServiceError on purpose is logged as an error.
 *
 * @throws Error when the port cannot be bound
 */
export async function serve<const Served extends readonly object[]>(
  options: ServeOptions<Served>,
): Promise<Server> {
  const server = new GrpcServer({ 'grpc.max_receive_message_length': LARGEST_MESSAGE_BYTES });
  for (const { definition, handlers } of options.services as readonly ServedService<object>[]) {
    server.addService(definition as ServiceDefinition, implementation(definition, handlers, options));
  }
  const health = new HealthImplementation({ '': 'SERVING' });
  health.addToServer(server);
  const port = await bind(server, `${options.host}:${options.port}`);

  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= shutDown(server, health, options.stopTimeoutMs ?? 3_000);
    return stopping;
  };
  return { port, stop };
}

type Callee = Pick<ServeOptions<[]>, 'audience' | 'key' | 'logger'>;
type AnyHandler = (request: object, call: CallContext) => Promise<object>;
type AnyCall = ServerUnaryCall<object, object>;

function implementation(definition: object, handlers: object, callee: Callee): UntypedServiceImplementation {
  // `Handlers<Definition>` has checked each pair of method and handler where their types are known.
  const byName = handlers as Readonly<Record<string, AnyHandler | undefined>>;
  return Object.fromEntries(
    methodsOf(definition).map(([name, method]) => {
      const handler = byName[name];
      if (handler === undefined) throw new Error(`${method.path} has no handler`);
      return [name, unary(method, handler, callee)];
    }),
  );
}

/** The one place where what a handler throws becomes an answer. */
function unary(method: AnyMethod, handler: AnyHandler, callee: Callee): handleUnaryCall<object, object> {
  const name = method.path.slice(1);
  return (call, callback) => {
    const started = performance.now();
    const departure = departureOf(call);
    withRemoteTrace(traceOf(call.metadata), name, { 'rpc.system': 'grpc', 'rpc.method': name }, async () => {
      const context = contextOf(call, name, departure.signal, callee);
      return whileHandling(context.deadline.getTime(), () => handler(call.request, context));
    }).then(
      (response) => {
        departure.forget();
        recordCall(name, 'ok', performance.now() - started);
        callback(null, response);
      },
      (thrown: unknown) => {
        departure.forget();
        const error = ServiceError.from(thrown);
        recordCall(name, error.kind, performance.now() - started);
        logFailure(callee.logger, name, error, call.cancelled);
        callback(toStatus(error));
      },
    );
  };
}

/** @throws ServiceError `unauthenticated` without a valid principal; `invalid` without a deadline */
function contextOf(call: AnyCall, method: string, signal: AbortSignal, callee: Callee): CallContext {
  const principal = principalOf(call, callee);
  const deadline = new Date(call.getDeadline());
  if (Number.isNaN(deadline.getTime())) throw new ServiceError('invalid', 'A call needs a deadline.');
  return { principal, signal, deadline, method };
}

// The library calls it cancelled when an answered call is closed, too; an abort then would be costly and mean nothing.
function departureOf(call: AnyCall): { signal: AbortSignal; forget(): void } {
  const abort = new AbortController();
  const leave = (): void => abort.abort();
  call.once('cancelled', leave);
  return { signal: abort.signal, forget: () => void call.off('cancelled', leave) };
}

function principalOf(call: AnyCall, { audience, key }: Callee): Principal {
  const [token] = call.metadata.get(PRINCIPAL_METADATA);
  if (typeof token !== 'string') throw new ServiceError('unauthenticated', 'The caller is not known.');
  return verifyPrincipal(token, { audience, key });
}

function logFailure(logger: Logger, method: string, error: ServiceError, isCancelled: boolean): void {
  if (error.kind === 'internal' && !isCancelled) logger.error({ method, err: error }, 'call failed');
  else logger.debug({ method, kind: error.kind, code: error.code, reason: error.message }, 'call refused');
}

function bind(server: GrpcServer, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

function shutDown(server: GrpcServer, health: HealthImplementation, timeoutMs: number): Promise<void> {
  health.setStatus('', 'NOT_SERVING');
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), timeoutMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
