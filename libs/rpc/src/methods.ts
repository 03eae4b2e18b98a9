import type { MethodDefinition } from '@grpc/proto-loader';
import type { CallContext } from './call-context.ts';

/** The RPCs of a generated service definition, without the index signature that grpc-js gives it. */
export type MethodName<Definition> = keyof {
  [Name in keyof Definition as string extends Name ? never : number extends Name ? never : Name]: unknown;
} &
  string;

/** The handlers of the RPCs of a service: complete requests in, loose responses out. */
export type Handlers<Definition> = {
  readonly [Name in MethodName<Definition>]: Definition[Name] extends MethodDefinition<
    infer _RequestIn,
    infer ResponseIn,
    infer RequestOut,
    infer _ResponseOut
  >
    ? (request: RequestOut, call: CallContext) => Promise<ResponseIn>
    : never;
};

/** One RPC of a definition at run time, where its message types are unknown. */
export type AnyMethod = MethodDefinition<object, object, object, object>;

/** The RPCs of a loaded service definition by name. */
export function methodsOf(definition: object): [string, AnyMethod][] {
  return Object.entries(definition as Record<string, AnyMethod>);
}
