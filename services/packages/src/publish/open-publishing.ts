import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '@kr/caller';
import { assertAllowedOn, getEntity, notFound, type Repeated } from '@kr/draft-lifecycle';
import { type ErrorKind, ServiceError } from '@kr/service-error';
import { v7 as uuidv7 } from 'uuid';
import type { PackagesConfig } from '../config.ts';
import type { PackagesContext } from '../context.ts';
import { restrictManagedDrafts } from '../package-context/notify-records.ts';
import { abandonedPublications } from './abandoned-publications.ts';
import { beginPackage, beginRecord } from './begin-publication.ts';
import { type Coordinator, createCoordinator } from './coordinator.ts';
import { packageSnapshot, packageVersion } from './package-version.ts';
import { participants } from './participants.ts';
import type { Publication } from './publication.ts';
import { publicationStore } from './publication-store.ts';
import type { PublishDeps } from './publish.ts';
import { findOwnCommitted } from './publish.ts';
import type { ResolvePublicationsDeps } from './resume-publications.ts';
import { resumePublications } from './resume-publications.ts';

/** The coordinator with everything around it that is not pure. */
export interface Publishing {
  readonly publishDeps: PublishDeps;
  readonly resolveDeps: ResolvePublicationsDeps;
  readonly coordinator: Coordinator;
  readonly resumption: Repeated;
}

export function openPublishing(
  context: PackagesContext,
  { publish: config, rpcDeadlineMs }: Pick<PackagesConfig, 'publish' | 'rpcDeadlineMs'>,
): Publishing {
  const { database, observations, now } = context;
  const ownVersion = packageVersion(context);
  const onExpired = (publication: Publication) =>
    observations.publicationFact({ fact: 'aborted', publication });
  const storeDeps = { database, packageVersion: ownVersion, times: config };
  const decisions = abandonedPublications({ ...storeDeps, onExpired });
  const coordinator = createCoordinator(
    {
      now,
      sleep: async (ms) => void (await sleep(ms)),
      publications: publicationStore(storeDeps),
      participants: participants(
        {
          ...context,
          restrictManagedDrafts: (...call) => restrictManagedDrafts(context, ...call),
        },
        { ...config, rpcDeadlineMs },
      ),
      onFact: (fact) => {
        observations.publicationFact(fact);
        // Consumers that run before the participants are notified would query the outcome.
        if (fact.fact === 'finished' || fact.fact === 'undelivered') context.wakeRelay();
      },
    },
    config,
  );
  const begin = {
    database,
    times: config,
    now,
    newId: () => uuidv7(),
    packageVersion: ownVersion,
  };

  return {
    publishDeps: {
      coordinator,
      checkPublishAccess: { package: checkPackageAccess(context), record: checkRecordAccess(context) },
      begin: {
        package: (id, options, snapshot) => beginPackage(begin, id, options, snapshot),
        record: (id, options) => beginRecord(begin, id, options),
      },
      findOwnCommitted: (id, requestedBy) => findOwnCommitted(database, id, requestedBy),
      onBegun: observations.publicationStarted,
    },
    resolveDeps: { decisions, now, onUnknown: observations.publicationUnknown },
    coordinator,
    resumption: resumePublications(
      {
        decisions,
        coordinator,
        now,
        onResumed: observations.publicationResumed,
        onFailed: observations.scanFailed,
      },
      config.scanEveryMs,
    ),
  };
}

function checkPackageAccess(context: PackagesContext): PublishDeps['checkPublishAccess']['package'] {
  return async (id, principal) => {
    const entity = await getEntity(context, id);
    const content = entity.draft ?? entity.published;
    if (content === null) return { noDraftError: notFound() };
    assertAllowedOn(principal, 'publish', entity, content, context.now());
    return entity.draft === null
      ? { noDraftError: notFound() }
      : { snapshot: packageSnapshot(entity), parentIds: [entity.parent.id] };
  };
}

/** The records service knows the resource and decides for itself. */
function checkRecordAccess({
  recordsLifecycle,
  records,
}: PackagesContext): PublishDeps['checkPublishAccess']['record'] {
  const authorise = (id: string, form: 'FORM_DRAFT' | 'FORM_PUBLISHED', principal: Principal) =>
    recordsLifecycle.authorise({ id, form, action: 'publish' }, principal);
  const parentsOf = async (id: string, principal: Principal) => {
    if (principal.grants.length === 0) return [];
    const described = await records.describeRecords({ ids: [id] }, principal);
    return described.records.flatMap(({ parentId, managedBy }) => [parentId, managedBy]);
  };
  return async (id, principal) => {
    try {
      await authorise(id, 'FORM_DRAFT', principal);
      return { parentIds: await parentsOf(id, principal) };
    } catch (noDraftError) {
      if (!isOneOf(noDraftError, ['not_found'])) throw noDraftError;
      // Callers without the permission get the same answer whether they once published it or not.
      await authorise(id, 'FORM_PUBLISHED', principal).catch((refusal: unknown) => {
        throw isOneOf(refusal, ['not_found', 'forbidden', 'unauthenticated']) ? noDraftError : refusal;
      });
      return { noDraftError };
    }
  };
}

function isOneOf(error: unknown, kinds: readonly ErrorKind[]): error is ServiceError {
  return error instanceof ServiceError && kinds.includes(error.kind);
}
