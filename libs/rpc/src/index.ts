export type { CallContext } from './call-context.ts';
export { type CallOptions, type Client, type ClientOptions, createClient } from './create-client.ts';
export { afterCall, detached, inheritedDeadlineMs } from './current-call.ts';
export { fromErrorDetail, toErrorDetail } from './error-detail.ts';
export type { Handlers, MethodName } from './methods.ts';
export { type Callers, type ServedService, type ServeOptions, type Server, serve } from './serve.ts';
