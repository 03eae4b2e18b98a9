import type { Endpoint } from './endpoint.ts';

export type ReadMethod = 'OPTIONS' | 'HEAD' | 'GET';
export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Method = ReadMethod | WriteMethod;

/** Rate-limit cost of a request. The numbers are in the configuration. */
export type Cost = 'nothing' | 'one' | 'search' | 'publish' | 'auditLog';

/**
 * The concurrency class of a request. `local` uses this process alone and is never rejected. `read` may use all slots; `write` and `search`
 * (all expensive reads) leave some for it. `transfer` has separate slots, because it may take long.
 */
export type Lane = 'local' | 'read' | 'write' | 'search' | 'transfer';

/** An effect of a write: on published documents, which the response cache holds, or on the search index, directly or by file events. */
export type Change = 'published' | 'index' | 'files';

interface RouteFacts {
  /** A path of Express, parameters with a colon. */
  path: string;
  /** Whether anonymous requests are allowed; otherwise they get 401. */
  auth: 'open' | 'token';
  /** How the request's body is handled: parsed, streamed (any type, if a chunk) or, by default, ignored. */
  body?: 'json' | 'bytes' | 'chunk';
  /** The negotiable representations; see `accept.ts`. */
  produces: 'entity' | 'published' | 'hits' | 'json' | 'any';
  /** By default `one`. `HEAD` costs as much as `GET`. */
  cost?: Cost;
  /** By default `read` or `write`, by the method. */
  lane?: Lane;
  /** Whether answers to anonymous callers may come from the response cache. The path ends in the id of the entity. */
  cacheable?: boolean;
  /** Requests of resumable uploads: every answer names the version of tus. */
  protocol?: 'tus';
  operationId: string;
  openapi: OpenapiFragment;
  handler: Endpoint;
}

/** One operation of the public interface: the only place with facts about it. */
export type Route = RouteFacts &
  ({ method: ReadMethod; changes?: undefined } | { method: WriteMethod; changes: readonly Change[] });

/** The parts of an operation in OpenAPI that do not follow from its route. Names refer to components in `openapi.yaml`. */
export interface OpenapiFragment {
  tag: 'records' | 'packages' | 'search' | 'vocabularies' | 'site';
  summary: string;
  description?: string;
  parameters?: readonly string[];
  requestBody?: string;
  /** Names by status. */
  responses: Readonly<Record<number, string>>;
  /** Further statuses, with the usual response of each. */
  errors?: readonly number[];
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Whether a request may change what searches find. */
export function changesIndex({ changes = [] }: Pick<Route, 'changes'>): boolean {
  return changes.includes('index') || changes.includes('files');
}
