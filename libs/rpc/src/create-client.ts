import { type ChannelOptions, credentials, Client as GrpcClient, Metadata } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { type Principal, signPrincipal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';
import { traceHeaders, withSpan } from '@kr/telemetry';
import { CALLER_METADATA, PRINCIPAL_METADATA } from './call-metadata.ts';
import { inheritedDeadlineMs } from './current-call.ts';
import { fromStatus, unavailable } from './error-status.ts';
import { type AnyMethod, type MethodName, methodsOf } from './methods.ts';
import { beginCall, isFailure } from './observations.ts';
import { type RenewedChannel, renewedChannel } from './renewed-channel.ts';

export interface ClientOptions {
  /** `host:port`, where the name may have several addresses, or a list of `IPv4:port` separated by commas. */
  address: string;
  /** The called service, for which principals are signed. */
  audience: string;
  /** The name under which this process calls it. */
  caller: string;
  /** The secret that caller and callee share. */
  key: string;
  /** Timeout of a call in milliseconds (default 5000); the deadline of the call being handled may be earlier. */
  defaultTimeoutMs?: number;
  /** Milliseconds after which the address is resolved again, to find added processes (default 30000). */
  lookupEveryMs?: number;
}

export interface CallOptions {
  /** Replaces the client's default. */
  timeoutMs?: number;
  /** Factor on the client's default deadline, if `timeoutMs` is absent. */
  timeoutFactor?: number;
  signal?: AbortSignal;
}

/** One method for each RPC of a definition: loose requests in, complete responses out. */
export type Client<Definition> = {
  readonly [Name in MethodName<Definition> as Uncapitalize<Name>]: Definition[Name] extends MethodDefinition<
    infer RequestIn,
    infer _ResponseIn,
    infer _RequestOut,
    infer ResponseOut
  >
    ? (request: RequestIn, principal: Principal, options?: CallOptions) => Promise<ResponseOut>
    : never;
} & {
  /** Closes the connection when running calls have ended. */
  close(): void;
};

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const LOOKUP_EVERY_MS = 30_000;

// Round robin over the available addresses; clients of the same ones share the connections. A lost connection
// is reopened within a second of the peer's return, with or without calls; its name is resolved again then,
// and calls go elsewhere, or fail at once instead of queueing. A connected but silent peer is dropped after
// 15 seconds: with a shorter limit, a process that was itself busy for seconds would mistake an unread
// response for silence.
const CHANNEL: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  'grpc.keepalive_time_ms': 5_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
};

/**
 * A client of one gRPC service, however many processes serve it. It connects with the first call and recovers from the loss of its
 * peer by itself. Methods throw the ServiceError that the callee threw, or `unavailable` (repeat after 1 s) when it
 * is not reached or does not answer in time; whether the call took effect is unknown then.
 */
export function createClient<Definition extends object>(
  definition: Definition,
  options: ClientOptions,
): Client<Definition> {
  const open = () => new GrpcClient(targetOf(options.address), credentials.createInsecure(), CHANNEL);
  const renewed = renewedChannel(open, options.lookupEveryMs ?? LOOKUP_EVERY_MS);
  const methods = methodsOf(definition).map(([name, method]) => [
    name.charAt(0).toLowerCase() + name.slice(1),
    observed(method, options, (request: object, principal: Principal, callOptions: CallOptions = {}) =>
      call(renewed, method, request, principal, { ...options, ...callOptions }),
    ),
  ]);
  // The mapped type describes the entries; they cannot be built under it one by one.
  return Object.assign(Object.fromEntries(methods), { close: () => renewed.close() }) as Client<Definition>;
}

function targetOf(address: string): string {
  return address.includes(',') ? `ipv4:${address}` : address;
}

/** Adds a span and a duration metric. */
function observed<Arguments extends unknown[]>(
  method: AnyMethod,
  { address }: ClientOptions,
  make: (...args: Arguments) => Promise<object>,
): (...args: Arguments) => Promise<object> {
  const name = method.path.slice(1);
  const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name, 'server.address': address };
  return async (...args) => {
    const ended = beginCall(name);
    try {
      const response = await withSpan(name, { kind: 'client', attributes, isFailure }, () => make(...args));
      ended();
      return response;
    } catch (error) {
      ended(ServiceError.from(error));
      throw error;
    }
  };
}

function call(
  renewed: RenewedChannel,
  method: AnyMethod,
  request: object,
  principal: Principal,
  {
    audience,
    caller,
    key,
    signal,
    timeoutMs,
    timeoutFactor = 1,
    defaultTimeoutMs = 5_000,
  }: ClientOptions & CallOptions,
): Promise<object> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(unavailable(signal.reason));
      return;
    }
    const usualMs = timeoutFactor * defaultTimeoutMs;
    const deadline = Math.min(Date.now() + (timeoutMs ?? usualMs), inheritedDeadlineMs());
    const metadata = Metadata.fromHttp2Headers(traceHeaders());
    metadata.set(CALLER_METADATA, caller);
    metadata.set(PRINCIPAL_METADATA, signPrincipal(principal, { audience, key }));
    const cancel = (): void => running.cancel();
    const { channel, giveBack } = renewed.borrow();
    const running = withoutStackTraces(() =>
      channel.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline },
        (failure, response) => {
          giveBack();
          signal?.removeEventListener('abort', cancel);
          if (failure !== null) reject(fromStatus(failure, timeoutMs === undefined ? usualMs : undefined));
          else if (response === undefined) reject(unavailable(new Error(`${method.path} returned nothing`)));
          else resolve(response);
        },
      ),
    );
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

/**
 * The library creates an error for each call in case it fails, and its stack trace is a large part of the
 * cost of a call.
 */
function withoutStackTraces<Result>(start: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return start();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
