import { type Attributes, counter, durations, type Logger } from '@kr/telemetry';
import type { ParticipantName, Publication, PublicationState } from './publish/publication.ts';
import type { PublishFact } from './publish/publish-ports.ts';

/**
 * One function for each business fact: counter and log line together. docs/publications.md lists the
 * counters.
 */
export interface Observations {
  publicationStarted(publication: Publication): void;
  publicationResumed(publication: Publication): void;
  publicationFact(fact: PublishFact): void;
  publicationUnknown(publicationId: string): void;
  scanFailed(cause: unknown): void;
  /** The records service was not notified of a package's resources by call; an event follows. */
  mirrorDeferred(packageId: string, cause: unknown): void;
}

export function createObservations(logger: Logger, now: () => Date): Observations {
  const { count, decided, finished } = instruments();

  const observeDecision = (publication: Publication): void => {
    const { subject, refusal } = publication;
    const outcome = outcomeOf(publication);
    count[outcome]({ subject, ...(refusal !== null && { reason: refusal.kind }) });
    decided(secondsSince(publication.createdAt, publication.decidedAt ?? now()), { subject, outcome });
    const { kind, issues } = refusal ?? {};
    logger.info({ ...about(publication), refusal: kind, issues: issues?.length }, `publication ${outcome}`);
  };

  return {
    publicationStarted(publication) {
      count.started({ subject: publication.subject });
      logger.debug(about(publication), 'publication started');
    },
    publicationResumed(publication) {
      const { subject, state } = publication;
      count.resumed({ subject, state });
      logger.info({ ...about(publication), state }, 'publication resumed');
    },
    publicationFact(fact) {
      const { publication } = fact;
      const { subject } = publication;
      switch (fact.fact) {
        case 'committed':
        case 'aborted':
          return observeDecision(publication);
        case 'finished': {
          const outcome = outcomeOf(publication);
          count.finished({ subject, outcome });
          finished(secondsSince(publication.createdAt, now()), { subject, outcome });
          return logger.debug(about(publication), 'publication finished');
        }
        case 'retried':
          count.retried({ subject });
          return logger.warn({ ...about(publication), err: fact.cause }, 'publication step failed');
        case 'undelivered': {
          const { participant } = fact;
          count.undelivered({ subject, participant });
          return logger.warn(
            { ...about(publication), participant, err: fact.cause },
            'publication decision not delivered',
          );
        }
        case 'failed':
          count.failed({ subject });
          return logger.error({ ...about(publication), err: fact.cause }, 'publication run failed');
        default:
          return fact satisfies never;
      }
    },
    publicationUnknown(publicationId) {
      count.unknown();
      logger.error({ publication_id: publicationId }, 'publication unknown: this database lost its history');
    },
    scanFailed(cause) {
      logger.warn({ err: cause }, 'the scan for unfinished publications failed');
    },
    mirrorDeferred(packageId, cause) {
      count.mirrorDeferred();
      logger.warn({ package_id: packageId, err: cause }, 'package resources not mirrored at once');
    },
  };
}

type Outcome = 'committed' | 'refused' | 'aborted';

/** Timeouts are aborted; invalid content and conflicts are refused. */
function outcomeOf({ state, refusal }: Publication): Outcome {
  if (state === 'COMMITTED' || state === 'DONE') return 'committed';
  return refusal === null || refusal.kind === 'unavailable' ? 'aborted' : 'refused';
}

function about({ id, subject, entityId, epoch, resourceIds }: Publication) {
  return { publication_id: id, subject, entity_id: entityId, epoch, resources: resourceIds.length };
}

function secondsSince(start: Date, end: Date): number {
  return Math.max(0, end.getTime() - start.getTime()) / 1_000;
}

const METER = 'packages';

const SUBJECTS: readonly Publication['subject'][] = ['package', 'record'];
const PARTICIPANTS: readonly ParticipantName[] = ['files', 'records'];
const OUTCOMES: readonly Outcome[] = ['committed', 'refused', 'aborted'];
const OPEN_STATES: readonly PublicationState[] = ['PREPARING', 'COMMITTED', 'ABORTED'];

const bySubject = SUBJECTS.map((subject) => ({ subject }));

/** Every subject with each of the values of another label. */
function bySubjectAnd(label: string, values: readonly string[]): Attributes[] {
  return bySubject.flatMap((subject) => values.map((value) => ({ ...subject, [label]: value })));
}

function instruments() {
  const counting = (name: string, description: string, beforehand: readonly Attributes[]) =>
    counter(METER, { name, description }, beforehand);
  return {
    count: {
      started: counting('publications_started', 'Publications that began.', bySubject),
      resumed: counting(
        'publications_resumed',
        'Publications that another owner resumed.',
        bySubjectAnd('state', OPEN_STATES),
      ),
      committed: counting('publications_committed', 'Publications that became visible.', bySubject),
      refused: counting(
        'publications_refused',
        'Publications with problems, or in conflict with another.',
        bySubjectAnd('reason', ['not_publishable', 'conflict']),
      ),
      aborted: counting(
        'publications_aborted',
        'Publications that could not be decided in time.',
        bySubjectAnd('reason', ['unavailable']),
      ),
      finished: counting(
        'publications_finished',
        'Publications that all participants have applied.',
        bySubjectAnd('outcome', OUTCOMES),
      ),
      retried: counting('publication_steps_retried', 'Steps that failed and are repeated.', bySubject),
      undelivered: counting(
        'publication_decisions_undelivered',
        'Decisions that did not reach a participant.',
        bySubjectAnd('participant', PARTICIPANTS),
      ),
      failed: counting(
        'publication_runs_failed',
        'Publication runs that failed with an unexpected error.',
        bySubject,
      ),
      unknown: counting(
        'publications_unknown',
        'Publications known to participants but missing in this database.',
        [{}],
      ),
      mirrorDeferred: counting(
        'package_mirrors_deferred',
        'Resource lists that were sent by event instead of a call.',
        [{}],
      ),
    },
    decided: durations(METER, {
      name: 'publication_decision_seconds',
      description: 'From the beginning of a publication to its decision.',
    }),
    finished: durations(METER, {
      name: 'publication_duration_seconds',
      description: 'From the beginning of a publication until all participants have applied it.',
    }),
  };
}
