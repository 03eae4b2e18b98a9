import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Principal } from '@kr/caller';
import type { Vocabularies } from '@kr/metadata';

/** A request with its caller, after all checks that routes share. */
export interface Call {
  /** Path parameters, decoded. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The path of the request, without query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** `HEAD` is answered as `GET` without the body. */
  method: string;
  /** The decoded body of routes that take JSON, after structural checks; undefined when it was empty. */
  body: unknown;
  /** The same body unparsed, for services that decode it themselves. */
  rawBody: Buffer;
  /** The undecoded body, for routes that take bytes. */
  bytes: Readable;
  /** Names what a keyed request creates, for services that make it only once; empty without a key. */
  creationKey: Buffer;
  /** The negotiated media type, one of the route's. */
  mediaType: string;
  principal: Principal;
  /** Authenticates the same credentials again. @throws ServiceError `unauthenticated`: they were revoked or expired */
  authenticateAgain(): Promise<Principal>;
  /** The user, or the address of a request without one, for services that divide something between requesters. */
  requesterId: string;
  /** Adds milliseconds of work in a service to the rate-limit cost of the request. */
  addCost(ms: number): void;
  /** The address that the connection comes from. */
  peer: string | undefined;
  /** Scheme, host and path that links start with, without a slash at the end. */
  baseUrl: string;
  vocabularies: Vocabularies;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

/** The result of an endpoint; `pipeline/reply.ts` writes it. */
export type Reply = JsonReply | TextReply | EmptyReply | StreamReply;

export interface JsonReply {
  as: 'json';
  status: number;
  body: unknown;
  /** The URL of the created resource. */
  location?: string;
  /** The represented state; becomes the ETag. */
  state?: Representation;
  /** The parent of that entity, if it is published and every caller gets the same answer. */
  publicOf?: string;
}

/** Identifies a representation: the revision, and a variant if a revision has several. */
export interface Representation {
  revision: string;
  /** Empty when the revision alone makes it; see `EntityDocument.variant`. */
  variant: string;
}

export interface TextReply {
  as: 'text';
  status: number;
  type: string;
  text: string;
  headers?: Record<string, string>;
}

export interface EmptyReply {
  as: 'empty';
  status: number;
  headers?: Record<string, string>;
}

/** Bytes from elsewhere, with their headers. */
export interface StreamReply {
  as: 'stream';
  status: number;
  headers: Record<string, string | string[]>;
  stream: Readable;
}

export type Endpoint = (call: Call) => Promise<Reply>;

export function json<Body>(status: number, body: Body): JsonReply & { body: Body } {
  return { as: 'json', status, body };
}

/** 201; by default, `Location` is the body's link to itself. */
export function created(body: Readonly<Record<string, unknown>>, location = selfOf(body)): JsonReply {
  return { as: 'json', status: 201, location, body };
}

export function selfOf({ links }: Readonly<Record<string, unknown>>): string {
  return (links as { self: string }).self;
}

export function noContent(): EmptyReply {
  return { as: 'empty', status: 204 };
}

/** A path parameter of the route; the route table guarantees that it is there. */
export function param(call: Call, name: string): string {
  const value = call.params[name];
  if (value === undefined) throw new Error(`the route has no parameter ${name}`);
  return value;
}

/** Whether a parameter of the query has one of the usual words for true. */
export function isTrue(text: string | null): boolean {
  return text !== null && /^(?:1|t|true|y|yes|on)$/i.test(text);
}
