import type { Issue } from '@kr/service-error';
import type { ParticipantName, Publication, Refusal } from './publication.ts';
import type { FileManifest } from './publish-saga.ts';

export interface Renewal {
  /**
   * False when another process owns or has decided it. The epoch alone is not enough: a new owner raises it
   * too.
   */
  readonly isRenewed: boolean;
  /** The row as it then is. */
  readonly publication: Publication;
}

/**
 * The rows of publications. After a ServiceError nothing was stored; after any other error the outcome is
 * unknown.
 */
export interface PublicationLog {
  /** Raises the epoch and the lease if the owner still is the owner. */
  renew(owned: Publication, now: Date): Promise<Renewal>;
  /**
   * The commit point: PREPARING of this epoch becomes COMMITTED, and in the same transaction a package's own version is
   * published and its event written. Answers with the row as it then is, changed or not.
   */
  commit(
    owned: Publication,
    publishedIds: readonly string[],
    manifests: readonly FileManifest[],
    now: Date,
  ): Promise<Publication>;
  /** PREPARING of this epoch becomes ABORTED, and a package's draft is unlocked. Answers as `commit` does. */
  abort(owned: Publication, refusal: Refusal, now: Date): Promise<Publication>;
  read(publicationId: string): Promise<Publication | undefined>;
  /** COMMITTED becomes DONE, ABORTED becomes ABORT_DONE. May be repeated. */
  finish(publication: Publication, now: Date): Promise<void>;
  /** Stores who has applied, and lets the next owner resume after a pause that grows with the age of the decision. */
  postpone(publication: Publication, applied: readonly ParticipantName[], now: Date): Promise<void>;
  /** The package's problems. Its draft is locked, so a repeat returns the same. */
  check(publication: Publication, manifests: readonly FileManifest[]): Promise<readonly Issue[]>;
}

export type SealReply =
  | { readonly outcome: 'sealed'; readonly manifests: readonly FileManifest[] }
  | { readonly outcome: 'blocked' };

/** The ids without a vote so far, and the size of the others as JSON in bytes. */
interface PartReply {
  readonly remainingIds: readonly string[];
  readonly bytes: number;
}

export type PrepareReply =
  | (PartReply & { readonly outcome: 'prepared'; readonly stagedIds: readonly string[] })
  | (PartReply & { readonly outcome: 'refused'; readonly issues: readonly Issue[] })
  | { readonly outcome: 'blocked' };

/** The other services. Every call may be repeated; one that fails as `unavailable` may or may not have arrived. */
export interface ParticipantCalls {
  seal(publication: Publication): Promise<SealReply>;
  /**
   * Prepares these resources of the publication; the reply may cover only the first of them. Before each call the resources
   * of a restricted package are restricted too.
   */
  prepare(
    publication: Publication,
    ids: readonly string[],
    manifests: readonly FileManifest[],
  ): Promise<PrepareReply>;
  /** Sends the decision in the row. */
  notify(participant: ParticipantName, publication: Publication): Promise<void>;
}

/** All outside dependencies of a run: a scheduler that replaces them controls time, faults and order. */
export interface PublishPorts {
  now(): Date;
  sleep(ms: number): Promise<void>;
  publications: PublicationLog;
  participants: ParticipantCalls;
  onFact(fact: PublishFact): void;
}

export type PublishFact =
  | { readonly fact: 'committed' | 'aborted' | 'finished'; readonly publication: Publication }
  | { readonly fact: 'retried'; readonly publication: Publication; readonly cause: unknown }
  | {
      readonly fact: 'undelivered';
      readonly publication: Publication;
      readonly participant: ParticipantName;
      readonly cause: unknown;
    }
  | { readonly fact: 'failed'; readonly publication: Publication; readonly cause: unknown };
