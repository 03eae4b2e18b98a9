import type { AnyDefinition, MessageTypeDefinition } from '@grpc/proto-loader';
import { loaded } from './loaded.ts';

/** Turns messages of one type into protobuf bytes and back. */
export interface MessageCodec<Sent, Received> {
  /** @throws TypeError when a field has a value of the wrong type */
  encode(message: Sent): Uint8Array;
  /** Unknown fields are skipped, absent ones have their defaults. @throws Error when the bytes are no such message */
  decode(bytes: Uint8Array): Received;
}

/** The codec of a message by its full name; the caller vouches that the generated types belong to that name. */
export function messageCodec<Sent extends object, Received extends object>(
  name: string,
): MessageCodec<Sent, Received> {
  const type = loaded[name];
  if (type === undefined || !isMessage(type)) throw new Error(`proto/ has no message ${name}`);
  return {
    encode: (message) => type.serialize(message),
    decode: (bytes) => type.deserialize(Buffer.from(bytes)) as Received,
  };
}

function isMessage(type: AnyDefinition): type is MessageTypeDefinition<object, object> {
  return 'serialize' in type && 'deserialize' in type;
}
