import type { Definitions } from '@kr/contracts';
import type { Handlers } from '@kr/rpc';

type AllRpcs = Handlers<Definitions['files']> & Handlers<Definitions['filesOperations']>;

/** The handler of one RPC of this service. */
export type Rpc<Name extends keyof AllRpcs> = AllRpcs[Name];
