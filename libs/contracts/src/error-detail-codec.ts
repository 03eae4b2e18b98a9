import type { ErrorDetail, ErrorDetail__Output } from './gen/messages.ts';
import { messageCodec } from './message-codec.ts';

/** The failure that crosses a process boundary beside its gRPC status. */
export const errorDetailCodec = messageCodec<ErrorDetail, ErrorDetail__Output>(
  'knowledge.rpc.v1.ErrorDetail',
);
