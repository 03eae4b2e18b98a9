import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '@kr/caller';
import { getEntity, notFound, permit, type Repeated } from '@kr/draft-lifecycle';
import { around } from '@kr/failpoint';
import { type ErrorKind, ServiceError } from '@kr/service-error';
import { v7 as uuidv7 } from 'uuid';
import type { PackagesConfig } from '../config.ts';
import type { PackagesContext } from '../context.ts';
import { restrictManagedDrafts } from '../package-context/notify-records.ts';
import { beginPackage, beginRecord } from './begin-publication.ts';
import { type Coordinator, startCoordinator } from './coordinator.ts';
import { packageSnapshot, packageVersion } from './package-version.ts';
import { participants } from './participants.ts';
import type { Publication } from './publication.ts';
import { decisionStore, publicationStore } from './publication-store.ts';
import type { PublishDeps } from './publish.ts';
import { findOwnCommitted } from './publish.ts';
import type { ResolvePublicationsDeps } from './resume-publications.ts';
import { resumePublications } from './resume-publications.ts';

/** The coordinator with everything around it that is not pure. */
export interface Publishing {
  readonly publish: PublishDeps;
  readonly resolve: ResolvePublicationsDeps;
  readonly coordinator: Coordinator;
  readonly resumption: Repeated;
}

export function openPublishing(
  context: PackagesContext,
  { publish: config, rpcDeadlineMs }: Pick<PackagesConfig, 'publish' | 'rpcDeadlineMs'>,
): Publishing {
  const { database, observed, now } = context;
  const ownVersion = packageVersion(context);
  const expired = (publication: Publication) => observed.publicationFact({ fact: 'aborted', publication });
  const storeDeps = { database, packageVersion: ownVersion, times: config, expired };
  const decisions = decisionStore(storeDeps);
  const coordinator = startCoordinator(
    {
      now,
      sleep: async (ms) => void (await sleep(ms)),
      log: publicationStore(storeDeps),
      participants: participants(
        {
          ...context,
          restrictManagedDrafts: (...call) => restrictManagedDrafts(context, ...call),
        },
        { ...config, rpcDeadlineMs },
      ),
      observed: (fact) => {
        observed.publicationFact(fact);
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
    publish: {
      coordinator,
      authorise: { package: authorisePackage(context), record: authoriseRecord(context) },
      begin: {
        package: withBeginFailpoint((id, options, snapshot) => beginPackage(begin, id, options, snapshot)),
        record: withBeginFailpoint((id, options) => beginRecord(begin, id, options)),
      },
      findOwnCommitted: (id, requestedBy) => findOwnCommitted(database, id, requestedBy),
      started: observed.publicationStarted,
    },
    resolve: { decisions, now, unknown: observed.publicationUnknown },
    coordinator,
    resumption: resumePublications(
      { decisions, coordinator, now, resumed: observed.publicationResumed, failed: observed.scanFailed },
      config.scanEveryMs,
    ),
  };
}

function authorisePackage(context: PackagesContext): PublishDeps['authorise']['package'] {
  return async (id, principal) => {
    const entity = await getEntity(context, id);
    const content = entity.draft ?? entity.published;
    if (content === null) return { notFoundError: notFound() };
    permit(principal, 'publish', entity, content, context.now());
    return entity.draft === null
      ? { notFoundError: notFound() }
      : { snapshot: packageSnapshot(entity), parentIds: [entity.parent.id] };
  };
}

/** The records service knows the resource and decides for itself. */
function authoriseRecord({ recordsLifecycle, records }: PackagesContext): PublishDeps['authorise']['record'] {
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
    } catch (notFoundError) {
      if (!isOneOf(notFoundError, ['not_found'])) throw notFoundError;
      // Callers without the permission get the same answer whether they once published it or not.
      await authorise(id, 'FORM_PUBLISHED', principal).catch((refusal: unknown) => {
        throw isOneOf(refusal, ['not_found', 'forbidden', 'unauthenticated']) ? notFoundError : refusal;
      });
      return { notFoundError };
    }
  };
}

function isOneOf(error: unknown, kinds: readonly ErrorKind[]): error is ServiceError {
  return error instanceof ServiceError && kinds.includes(error.kind);
}

/** Packages and records share the failpoint. */
function withBeginFailpoint<Input extends unknown[], Output>(
  begin: (...input: Input) => Promise<Output>,
): (...input: Input) => Promise<Output> {
  return around('publish.begin', begin);
}
