import type { ErrorKind } from './error-kind.ts';
import { isTransient } from './is-transient.ts';

/** One rule that one field breaks. */
export interface Issue {
  /** Dotted path into the body, list positions included: `metadata.creators.0.role`. */
  field: string;
  /** Short sentences for people. */
  messages: readonly string[];
  /** The entity that has the problem, where one answer speaks of several. */
  record?: string;
}

export interface ServiceErrorOptions {
  issues?: readonly Issue[] | undefined;
  /** A stable machine-readable cause such as `draft_locked`, where the kind alone is not specific enough. */
  code?: string | undefined;
  /** Milliseconds after which a repeat may succeed. */
  retryAfterMs?: number | undefined;
  /** The change number that the entity has, where another one was demanded. */
  currentRevision?: number | undefined;
  /** Further members of the error's body, such as the tombstone of a removed entity. */
  members?: Readonly<Record<string, unknown>> | undefined;
  /** Milliseconds of work before the failure, which the caller's rate limit is charged for. */
  usedMs?: number | undefined;
  /** For the log only; never leaves the process. */
  cause?: unknown;
}

/** The only error class that is thrown on purpose. `message`, `issues` and `code` are safe to show to a caller. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly issues: readonly Issue[];
  readonly code?: string;
  readonly retryAfterMs?: number;
  readonly currentRevision?: number;
  readonly usedMs?: number;
  readonly members?: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.issues = options.issues ?? [];
    if (options.code !== undefined) this.code = options.code;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.currentRevision !== undefined) this.currentRevision = options.currentRevision;
    if (options.usedMs !== undefined) this.usedMs = options.usedMs;
    if (options.members !== undefined) this.members = options.members;
  }

  /**
   * Converts any error to a ServiceError: `unavailable` if it is transient (`isTransient`),
   * else `internal`; the original text is only in the cause.
   */
  static from(thrown: unknown): ServiceError {
    if (thrown instanceof ServiceError) return thrown;
    if (isTransient(thrown)) {
      const message = 'The service is temporarily unavailable.';
      return new ServiceError('unavailable', message, { retryAfterMs: 1_000, cause: thrown });
    }
    return new ServiceError('internal', 'Internal server error.', { cause: thrown });
  }
}
