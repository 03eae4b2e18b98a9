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

/**
 * An effect of a write.
 * - `published`: on published documents, which are in the response cache
 * - `index`: on the search index
 * - `files`: on the search index, by events of files
 */
export type Change = 'published' | 'index' | 'files';

interface OperationFacts {
  /** A path of Express, parameters with a colon. */
  path: string;
  /** Whether anonymous requests are allowed; by default they get 401. */
  auth?: 'open';
  /** `json`: parsed. `bytes`: streamed, application/octet-stream. `chunk`: streamed, any type (tus). Absent: ignored. */
  body?: 'json' | 'bytes' | 'chunk';
  /** The negotiable representations; see `accept.ts`. By default `json`. */
  produces?: 'entity' | 'published' | 'hits' | 'json' | 'any';
  /** By default `one`. `HEAD` costs as much as `GET`. */
  cost?: Cost;
  /** By default `read` or `write`, by the method. */
  lane?: Lane;
  /** Requests of resumable uploads: every answer names the version of tus. */
  protocol?: 'tus';
  handler: Endpoint;
}

/** The description of an operation in OpenAPI, where it does not follow from its other facts. Names refer to components in `openapi.yaml`. */
interface OperationDescription {
  operationId: string;
  summary: string;
  description?: string;
  /** Without those of the path. */
  parameters?: readonly string[];
  requestBody?: string;
  /** Names by status. */
  responses: Readonly<Record<number, string>>;
  /** Further statuses, with the usual response of each. */
  errors?: readonly number[];
}

/** One operation of the public interface: the only place with facts about it. */
export type Operation = OperationFacts &
  OperationDescription &
  ({ method: ReadMethod; changes?: undefined } | { method: WriteMethod; changes: readonly Change[] });

/** An operation in its group of the description. */
export type Route = Operation & { tag: 'records' | 'packages' | 'search' | 'vocabularies' | 'site' };

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Whether a request may change what searches find. */
export function changesIndex({ changes = [] }: Pick<Route, 'changes'>): boolean {
  return changes.includes('index') || changes.includes('files');
}
