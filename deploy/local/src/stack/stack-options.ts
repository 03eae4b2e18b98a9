import type { ServiceName } from './service-names.ts';

export interface StackOptions {
  dataDir: string;
  /** Of the public API; 0 takes any free one. */
  port: number;
  logLevel: string;
  /** `safe` syncs to disk and saves memory; `fast` is for disposable systems. */
  durability: 'safe' | 'fast';
  /** A running Postgres to use, by superuser URL, with the prefix of the database names; else one is started. */
  postgres?: { url: string; prefix: string };
  /** Runs two processes of each service, which their callers take turns between, and with that two gateways. */
  isReplicated?: boolean;
  /** Serves pages too. */
  hasPages?: boolean;
  /** Goes to all services, below what the stack sets itself. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Another checkout whose services run, prepared by `bootstrap.mjs prepare`. */
  checkout?: string;
  /** Has the last word on the environment of the first process of each service, before it starts for the first time. */
  environmentOf?(service: ServiceName, environment: ServiceVariables): Promise<ServiceVariables>;
  onProgress(sentence: string): void;
  /** Ends a start under way. */
  signal?: AbortSignal;
}

export type ServiceVariables = Readonly<Record<string, string | undefined>>;
