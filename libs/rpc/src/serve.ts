import {
  Server as GrpcServer,
  type handleUnaryCall,
  type Metadata,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  type ServerUnaryCall,
  type ServiceDefinition,
  status as Status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { type Principal, verifyPrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { type Logger, withRemoteTrace } from '@kr/telemetry';
import { HealthImplementation } from 'grpc-health-check';
import type { CallContext } from './call-context.ts';
import { CALLER_METADATA, PRINCIPAL_METADATA, traceOf } from './call-metadata.ts';
import { whileHandling } from './current-call.ts';
import { toStatus } from './error-status.ts';
import { type AnyMethod, type Handlers, type MethodName, methodsOf } from './methods.ts';
import { beginAnswer, isFailure } from './observations.ts';

/** A generated service definition (`definitions` of `@kr/contracts`) with the handlers of its RPCs. */
export interface ServedService<Definition extends object> {
  definition: Definition;
  handlers: Handlers<Definition>;
  callers: Callers<Definition>;
}

/** The RPCs that each caller may call, by its name; unlisted callers may call none. */
export type Callers<Definition> = Readonly<Record<string, 'all' | readonly MethodName<Definition>[]>>;

export interface ServeOptions<Served extends readonly object[]> {
  services: { readonly [Index in keyof Served]: ServedService<Served[Index]> };
  host: string;
  /** 0 = any free port. */
  port: number;
  /** The name that principals must be signed for. */
  audience: string;
  /** The secrets shared with each caller, by its name: what principals must be signed with. */
  callerKeys: ReadonlyMap<string, string>;
  logger: Logger;
  /** How long running calls may take to finish on `stop`, in milliseconds (default 3000). */
  stopTimeoutMs?: number;
}

export interface Server {
  /** The bound port. */
  port: number;
  /** Refuses new calls, lets running ones finish, then ends the remaining ones. May be called twice. */
  stop(): Promise<void>;
}

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * Serves gRPC and the standard health service (grpc.health.v1). Each call must have a deadline and carry a
 * principal signed for this server by a caller who may call that RPC, else its handler is not run. An error
 * of a handler becomes the status of the call; only errors that are not a ServiceError are logged as errors.
 *
 * @throws Error when the port cannot be bound
 */
export async function serve<const Served extends readonly object[]>(
  options: ServeOptions<Served>,
): Promise<Server> {
  const server = new GrpcServer({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    interceptors: [requirePrincipal(options)],
  });
  for (const served of options.services as readonly AnyServedService[]) {
    server.addService(served.definition as ServiceDefinition, implementation(served, options));
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

/** `ServedService` has checked handlers and callers where their types are known. */
interface AnyServedService {
  definition: object;
  handlers: Readonly<Record<string, AnyHandler | undefined>>;
  callers: Readonly<Record<string, 'all' | readonly string[]>>;
}

type Callee = Pick<ServeOptions<[]>, 'audience' | 'callerKeys' | 'logger'>;

type AnyHandler = (request: object, call: CallContext) => Promise<object>;
type AnyCall = ServerUnaryCall<object, object>;

function implementation(
  { definition, handlers }: AnyServedService,
  { logger }: ServeOptions<readonly object[]>,
): UntypedServiceImplementation {
  return Object.fromEntries(
    methodsOf(definition).map(([name, method]) => {
      const handler = handlers[name];
      if (handler === undefined) throw new Error(`${method.path} has no handler`);
      return [name, unary(method, handler, logger)];
    }),
  );
}

/** Runs a handler and translates its errors into the status of the call. */
function unary(method: AnyMethod, handler: AnyHandler, logger: Logger): handleUnaryCall<object, object> {
  const name = nameOf(method);
  return (call, callback) => {
    const ended = beginAnswer(name);
    const cancellation = cancellationOf(call);
    const span = {
      kind: 'server',
      attributes: { 'rpc.system.name': 'grpc', 'rpc.method': name },
      isFailure,
    } as const;
    withRemoteTrace(traceOf(call.metadata), name, span, async () => {
      const context = contextOf(call, name, cancellation.signal);
      return whileHandling(context.deadline.getTime(), () => handler(call.request, context));
    }).then(
      (response) => {
        cancellation.forget();
        ended();
        callback(null, response);
      },
      (thrown: unknown) => {
        cancellation.forget();
        const error = ServiceError.from(thrown);
        ended(error);
        logFailure(logger, name, error, call.cancelled);
        callback(toStatus(error));
      },
    );
  };
}

/** The verified principal of each running call, by its metadata. */
const principals = new WeakMap<Metadata, Principal>();

/** Checks the principal when the headers of a call arrive: the message of a refused call is never buffered. */
function requirePrincipal(options: ServeOptions<readonly object[]>): ServerInterceptor {
  const callersByPath = new Map<string, ReadonlySet<string>>();
  for (const { definition, callers } of options.services as readonly AnyServedService[]) {
    for (const [name, { path }] of methodsOf(definition)) {
      const allowed = Object.keys(callers).filter(
        (caller) => callers[caller] === 'all' || callers[caller]?.includes(name),
      );
      callersByPath.set(path, new Set(allowed));
    }
  }
  return (method, call) => {
    const callers = callersByPath.get(method.path);
    if (callers === undefined) return new ServerInterceptingCall(call);
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        try {
          principals.set(metadata, principalOf(metadata, callers, options));
          next(metadata);
        } catch (thrown) {
          const error = ServiceError.from(thrown);
          beginAnswer(nameOf(method))(error);
          logFailure(options.logger, nameOf(method), error, false);
          call.sendStatus({ code: Status.UNKNOWN, details: '', ...toStatus(error) });
        }
      })
      .build();
    return new ServerInterceptingCall(call, { start: (next) => next(listener) });
  };
}

function nameOf({ path }: { path: string }): string {
  return path.slice(1);
}

/** @throws ServiceError `invalid` without a deadline */
function contextOf(call: AnyCall, method: string, signal: AbortSignal): CallContext {
  const principal = principals.get(call.metadata);
  if (principal === undefined) throw new Error(`${method} was called without a verified principal`);
  const deadline = new Date(call.getDeadline());
  if (Number.isNaN(deadline.getTime())) throw new ServiceError('invalid', 'A call needs a deadline.');
  return { principal, signal, deadline, method };
}

// The library also emits `cancelled` when an answered call is closed; an abort would be costly and useless then.
function cancellationOf(call: AnyCall): { signal: AbortSignal; forget(): void } {
  const abort = new AbortController();
  const cancel = (): void => abort.abort();
  call.once('cancelled', cancel);
  return { signal: abort.signal, forget: () => void call.off('cancelled', cancel) };
}

/** @throws ServiceError `unauthenticated` without a valid principal; `forbidden` if the caller is not among `callers` */
function principalOf(
  metadata: Metadata,
  callers: ReadonlySet<string>,
  { audience, callerKeys }: Callee,
): Principal {
  const caller = String(metadata.get(CALLER_METADATA)[0]);
  const key = callerKeys.get(caller);
  const [token] = metadata.get(PRINCIPAL_METADATA);
  if (key === undefined || typeof token !== 'string') {
    throw new ServiceError('unauthenticated', 'The caller is unknown.');
  }
  const principal = verifyPrincipal(token, { audience, key });
  if (!callers.has(caller)) throw new ServiceError('forbidden', `${caller} may not call this.`);
  return principal;
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
