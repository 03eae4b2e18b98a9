import { type ChannelOptions, credentials, Client as GrpcClient, Metadata } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { type Principal, signPrincipal } from '@kr/caller';
import { traceHeaders, withSpan } from '@kr/telemetry';
import { CALLER_METADATA, PRINCIPAL_METADATA } from './caller-metadata.ts';
import { inheritedDeadlineMs } from './current-call.ts';
import { fromStatus, unavailable } from './error-status.ts';
import { type AnyMethod, type MethodName, methodsOf } from './methods.ts';

export interface ClientOptions {
  /** `host:port`. */
  address: string;
  /** The name of the service that is called: principals are signed for it. */
  audience: string;
  /** The name under which this process calls it. */
  caller: string;
  /** The secret that the two share. */
  key: string;
  /** The most a call may take, in milliseconds (default 5000); the deadline of the call being handled may be nearer. */
  defaultTimeoutMs?: number;
}

export interface CallOptions {
  /** Instead of the client's default. */
  timeoutMs?: number;
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
  /** Ends the connection once running calls are through. */
  close(): void;
};

const LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024;

// Clients of one address share its connection. One that was lost is built again within a second of the peer's
// return, whether calls come or not; meanwhile calls fail at once instead of queueing.
const CHANNEL: ChannelOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': LARGEST_MESSAGE_BYTES,
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
};

/**
 * A client of one gRPC service at one address. It connects with the first call and recovers from the loss of its
 * peer by itself. Methods throw the ServiceError that the callee threw, or `unavailable` (repeat after 1 s) when it
 * is not reached or does not answer in time; whether the call took effect is not known then.
 */
export function createClient<Definition extends object>(
  definition: Definition,
  options: ClientOptions,
): Client<Definition> {
  const channel = new GrpcClient(options.address, credentials.createInsecure(), CHANNEL);
  const methods = methodsOf(definition).map(([name, method]) => [
    name.charAt(0).toLowerCase() + name.slice(1),
    (request: object, principal: Principal, callOptions: CallOptions = {}) =>
      withSpan(
        method.path.slice(1),
        { 'rpc.system': 'grpc', 'server.address': options.address },
        () => call(channel, method, request, principal, { ...options, ...callOptions }),
        'client',
      ),
  ]);
  // The mapped type says what the entries are; they cannot be built under it one by one.
  return Object.assign(Object.fromEntries(methods), { close: () => channel.close() }) as Client<Definition>;
}

function call(
  channel: GrpcClient,
  method: AnyMethod,
  request: object,
  principal: Principal,
  { audience, caller, key, signal, timeoutMs, defaultTimeoutMs = 5_000 }: ClientOptions & CallOptions,
): Promise<object> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(unavailable(signal.reason));
      return;
    }
    const deadline = Math.min(Date.now() + (timeoutMs ?? defaultTimeoutMs), inheritedDeadlineMs());
    const metadata = Metadata.fromHttp2Headers(traceHeaders());
    metadata.set(CALLER_METADATA, caller);
    metadata.set(PRINCIPAL_METADATA, signPrincipal(principal, { audience, key }));
    const cancel = (): void => running.cancel();
    const running = withoutStackTraces(() =>
      channel.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline },
        (failure, response) => {
          signal?.removeEventListener('abort', cancel);
          if (failure !== null) reject(fromStatus(failure));
          else if (response === undefined) reject(unavailable(new Error(`${method.path} answered nothing`)));
          else resolve(response);
        },
      ),
    );
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

/** The library makes an error for each call in case it fails, and its stack is a good part of what a call costs. */
function withoutStackTraces<Result>(start: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return start();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
