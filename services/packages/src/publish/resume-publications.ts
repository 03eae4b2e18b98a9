import type { ResolvePublicationsRequest__Output, ResolvePublicationsResponse } from '@kr/contracts';
import { type Repeated, repeatedly } from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { validate as isUuid } from 'uuid';
import type { AbandonedPublications } from './abandoned-publications.ts';
import type { Coordinator } from './coordinator.ts';
import type { Publication, PublicationState } from './publication.ts';

export interface ResumeDeps {
  readonly decisions: Pick<AbandonedPublications, 'claim'>;
  readonly coordinator: Coordinator;
  now(): Date;
  onResumed(publication: Publication): void;
  onFailed(cause: unknown): void;
}

const MAX_RESUMED = 20;

/** Scans at once and then on a timer for publications without an owner, and runs them. */
export function resumePublications(deps: ResumeDeps, everyMs: number): Repeated {
  const running = new Set<Promise<unknown>>();
  return repeatedly(everyMs, () => resumeOnce(deps, running), deps.onFailed);
}

/**
 * One scan. `running` contains the publications resumed by earlier scans, so that publications of this process's callers,
 * however many, do not delay abandoned ones.
 */
export async function resumeOnce(
  { decisions, coordinator, now, onResumed }: Omit<ResumeDeps, 'onFailed'>,
  running: Set<Promise<unknown>> = new Set(),
): Promise<void> {
  const room = MAX_RESUMED - running.size;
  if (room <= 0) return;
  for (const publication of await decisions.claim(room, now())) {
    onResumed(publication);
    const { finished } = coordinator.run(publication);
    running.add(finished);
    void finished.finally(() => running.delete(finished));
  }
}

export interface ResolvePublicationsDeps {
  readonly decisions: Pick<AbandonedPublications, 'readAfterDeadlines' | 'insertTombstones'>;
  now(): Date;
  /** A participant has state of a publication that is unknown here. */
  onUnknown(publicationId: string): void;
}

/**
 * RPC ResolvePublications: only for services.
 *
 * Participants learn an id only after its row was committed, so an id without a row means that this database
 * lost it (restored from an older backup). Its published content is lost with it, so `aborted` is the
 * consistent answer; it is written first, so that no later decision can differ, and it is reported.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `invalid`: an id is no UUID
 */
export function resolvePublications({ decisions, now, onUnknown }: ResolvePublicationsDeps) {
  return async (
    { publicationIds }: ResolvePublicationsRequest__Output,
    { principal }: CallContext,
  ): Promise<ResolvePublicationsResponse> => {
    if (principal.service === null) throw new ServiceError('forbidden', 'Permission denied.');
    if (!publicationIds.every((id) => isUuid(id))) {
      throw new ServiceError('invalid', 'A publication id is a UUID.');
    }
    const states = new Map<string, PublicationState>();
    const read = async (ids: readonly string[]): Promise<void> => {
      for (const { id, state } of await decisions.readAfterDeadlines(ids, now())) states.set(id, state);
    };
    await read(publicationIds);
    const missing = publicationIds.filter((id) => !states.has(id));
    if (missing.length > 0) {
      missing.forEach(onUnknown);
      await decisions.insertTombstones(missing, now());
      await read(missing);
    }
    return {
      decisions: publicationIds.map((publicationId) => ({
        publicationId,
        decision: decisionOf(states.get(publicationId)),
      })),
    };
  };
}

function decisionOf(state: PublicationState | undefined) {
  if (state === 'COMMITTED' || state === 'DONE') return 'DECISION_COMMITTED';
  return state === 'ABORTED' || state === 'ABORT_DONE' ? 'DECISION_ABORTED' : 'DECISION_UNDECIDED';
}
