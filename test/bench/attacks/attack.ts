import type { RunningStack } from '@kr/local-stack';
import type { JsonClient } from '../json-client.ts';

/** The system that is attacked, with its default limits. */
export interface Target {
  stack: RunningStack;
  /** Of a user who owns what is attacked. */
  repository: JsonClient;
  token: string;
}

export interface Bystander {
  token: string;
  client: JsonClient;
}

/** A kind of request that bystanders send, each with its own token. */
export interface Operation {
  name: string;
  open(bystander: Bystander): Promise<() => Promise<void>>;
}

export interface RunningAttack {
  /** Requests of the attackers by the status of the answer. */
  statuses: Readonly<Record<number, number>>;
  stop(): Promise<void>;
}

export interface PreparedAttack {
  operations: readonly Operation[];
  /** From other addresses or users in each round, which have their whole allowance. */
  start(round: number): Promise<RunningAttack>;
}

export interface Attack {
  name: string;
  prepare(target: Target): Promise<PreparedAttack>;
}
