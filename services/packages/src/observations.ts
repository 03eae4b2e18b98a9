import type { Logger } from '@kr/telemetry';
import { metrics } from '@opentelemetry/api';
import type { Publication } from './publish/publication.ts';
import type { PublishFact } from './publish/publish-ports.ts';

/** One function for each business fact: counter and log line together. */
export interface Observations {
  publicationStarted(publication: Publication): void;
  publicationResumed(publication: Publication): void;
  publicationFact(fact: PublishFact): void;
  publicationUnknown(publicationId: string): void;
  scanFailed(cause: unknown): void;
  /** The records service did not hear of a package's resources at once; it will by event. */
  mirrorDelayed(packageId: string, cause: unknown): void;
}

export function observations(logger: Logger): Observations {
  const meter = metrics.getMeter('packages');
  const count = {
    started: meter.createCounter('publications_started'),
    resumed: meter.createCounter('publications_resumed'),
    committed: meter.createCounter('publications_committed'),
    aborted: meter.createCounter('publications_aborted'),
    settled: meter.createCounter('publications_settled'),
    retried: meter.createCounter('publication_steps_retried'),
    missed: meter.createCounter('publication_decisions_missed'),
    failed: meter.createCounter('publication_drives_failed'),
    unknown: meter.createCounter('publications_unknown'),
    mirrorDelayed: meter.createCounter('package_mirrors_delayed'),
  };
  const about = ({ id, subject, entityId, epoch, resourceIds }: Publication) => ({
    publication_id: id,
    subject,
    entity_id: entityId,
    epoch,
    resources: resourceIds.length,
  });

  return {
    publicationStarted(publication) {
      count.started.add(1, { subject: publication.subject });
      logger.debug(about(publication), 'publication started');
    },
    publicationResumed(publication) {
      count.resumed.add(1, { subject: publication.subject });
      logger.info({ ...about(publication), state: publication.state }, 'publication resumed');
    },
    publicationFact(fact) {
      const { publication } = fact;
      count[fact.fact].add(1, { subject: publication.subject });
      switch (fact.fact) {
        case 'committed':
          return logger.info(about(publication), 'publication committed');
        case 'aborted':
          return logger.info(
            {
              ...about(publication),
              refusal: publication.refusal?.kind,
              issues: publication.refusal?.issues.length,
            },
            'publication aborted',
          );
        case 'settled':
          return logger.debug(about(publication), 'publication settled');
        case 'retried':
          return logger.warn({ ...about(publication), err: fact.cause }, 'publication step failed');
        case 'missed':
          return logger.warn(
            { ...about(publication), participant: fact.participant, err: fact.cause },
            'publication decision not delivered',
          );
        case 'failed':
          return logger.error({ ...about(publication), err: fact.cause }, 'publication drive failed');
        default:
          return fact satisfies never;
      }
    },
    publicationUnknown(publicationId) {
      count.unknown.add(1);
      logger.error({ publication_id: publicationId }, 'publication unknown: this database lost its history');
    },
    scanFailed(cause) {
      logger.warn({ err: cause }, 'unfinished publications could not be looked for');
    },
    mirrorDelayed(packageId, cause) {
      count.mirrorDelayed.add(1);
      logger.warn({ package_id: packageId, err: cause }, 'package resources not mirrored at once');
    },
  };
}
