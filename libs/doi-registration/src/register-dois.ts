import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql, SqlDatabase } from '@kr/database';
import { dataciteJson, type Entity, type FormatContext } from '@kr/formats';
import { type Logger, observeGauges } from '@kr/telemetry';
import { type DataciteClient, DataciteError, type DoiUpdate } from './datacite.ts';
import { claimDue, type DoiRow, finish, type Outcome, readBacklog, stateOf, versionIdsOf } from './store.ts';

/** An entity as anonymous readers see it now. */
export type PublicView =
  | { isPublic: true; id: string; parentId: string; document: Readonly<Record<string, unknown>> }
  /** Restricted or removed; `until` is the end of an embargo. */
  | { isPublic: false; until?: Date };

export interface DoiRegistrationOptions extends Pick<FormatContext, 'vocabularies'> {
  database: SqlDatabase;
  datacite: DataciteClient;
  /** The version with this id, or the latest public version of this parent. */
  readPublic(id: string, which: 'version' | 'latest'): Promise<PublicView>;
  /** Runs a change in one transaction and wakes the relay for the events it wrote. */
  transact(run: (tx: Sql) => Promise<void>): Promise<void>;
  /** Publishes that the documents of these versions have changed. */
  appendChangedEvents(tx: Sql, versionIds: readonly string[]): Promise<void>;
  /** Name of the entities in URLs: `records` or `packages`. */
  collection: string;
  /** Scheme and host of the repository. */
  baseUrl: URL;
  logger: Logger;
  /** Milliseconds between two looks for DOIs that are due. */
  intervalMs: number;
  /** Milliseconds of the first pause after a failure, which doubles. */
  retryMs: number;
}

/** DOIs that are sent at the same time. */
const PARALLEL = 8;
const MAX_PAUSE_MS = 3_600_000;

/**
 * Registers DOIs with DataCite in the background: findable while anonymous readers see the entity, hidden afterwards.
 * Calls without an answer are retried with growing pauses; refused DOIs are left to an operator.
 */
export function startDoiRegistration(options: DoiRegistrationOptions): { stop(): Promise<void> } {
  const { database, logger, intervalMs } = options;
  const backlog = observeBacklog(options);
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();

  function start(row: DoiRow): void {
    const registration = registerDoi(options, row)
      .catch((error: unknown) => logger.warn({ err: error, doi: row.doi }, 'DOI state not stored'))
      .finally(() => running.delete(registration));
    running.add(registration);
  }
  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const free = PARALLEL - running.size;
        for (const row of free === 0 ? [] : await claimDue(database, free)) start(row);
      } catch (error) {
        logger.warn({ err: error }, 'DOIs could not be registered');
      }
      // A call that hangs must not delay the others.
      await Promise.race([...running, pause(intervalMs, stopping.signal)]);
    }
    await Promise.all(running);
  }
  const worker = work();
  return {
    async stop() {
      backlog.stop();
      stopping.abort();
      await worker;
    },
  };
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { ref: false, signal }).catch(() => undefined);
}

async function registerDoi(options: DoiRegistrationOptions, row: DoiRow): Promise<void> {
  const { logger, retryMs } = options;
  const outcome = await attempt(options, row).catch((error: unknown): Outcome => {
    const failure = error instanceof DataciteError ? error : undefined;
    logger.warn({ err: error, doi: row.doi }, 'DOI not registered');
    const isRefused = failure?.isTemporary === false;
    const pauseMs = Math.max(
      failure?.retryAfterMs ?? 0,
      Math.min(MAX_PAUSE_MS, retryMs * 2 ** Math.min(row.attempts, 20)) * (0.5 + Math.random()),
    );
    return {
      state: row.state,
      error: error instanceof Error ? error.message : String(error),
      isRefused,
      nextAt: isRefused ? null : new Date(Date.now() + pauseMs),
    };
  });
  await options.transact(async (tx) => {
    const after = await finish(tx, row, outcome);
    if (after !== undefined && stateOf(after) !== stateOf(row))
      await options.appendChangedEvents(tx, await versionIdsOf(tx, row));
  });
}

async function attempt(options: DoiRegistrationOptions, row: DoiRow): Promise<Outcome> {
  const { datacite, readPublic } = options;
  const view = await readPublic(row.entity_id, row.is_concept ? 'latest' : 'version');
  if (view.isPublic) {
    await datacite.put(row.doi, updateOf(view, row, options));
    return { state: 'findable', nextAt: null };
  }
  const nextAt = view.until ?? null;
  if (row.state === 'unregistered') return { state: 'unregistered', nextAt };
  await datacite.put(row.doi, { event: 'hide', attributes: {} });
  return { state: 'registered', nextAt };
}

type PublicEntity = Extract<PublicView, { isPublic: true }>;

function updateOf(
  { id, parentId, document }: PublicEntity,
  { doi, is_concept: isConcept }: DoiRow,
  { collection, baseUrl, vocabularies }: DoiRegistrationOptions,
): DoiUpdate {
  const page = (of: string) => new URL(`/${collection}/${of}`, baseUrl).href;
  const entity = { ...document, links: { self_html: page(id) } } as unknown as Entity;
  const { prefix, suffix, ...attributes } = dataciteJson(entity, {
    baseUrl: baseUrl.origin,
    vocabularies,
  }) as {
    prefix?: string;
    suffix?: string;
  } & ReturnType<typeof dataciteJson>;
  const [ownPrefix] = doi.split('/');
  const relation = isConcept
    ? { relatedIdentifier: entity.pids?.doi?.identifier ?? '', relationType: 'HasVersion' }
    : { relatedIdentifier: `${ownPrefix}/${parentId}`, relationType: 'IsVersionOf' };
  return {
    event: 'publish',
    attributes: {
      ...attributes,
      doi,
      url: isConcept ? page(`${id}/latest`) : attributes.url,
      relatedIdentifiers: [
        ...(attributes.relatedIdentifiers ?? []),
        { ...relation, relatedIdentifierType: 'DOI' },
      ],
    },
  };
}

/** The URL under which a DOI is registered at present; undefined while it must not be findable. */
export async function expectedUrl(
  options: Pick<DoiRegistrationOptions, 'readPublic' | 'collection' | 'baseUrl'>,
  row: DoiRow,
): Promise<string | undefined> {
  const view = await options.readPublic(row.entity_id, row.is_concept ? 'latest' : 'version');
  if (!view.isPublic) return undefined;
  return new URL(`/${options.collection}/${view.id}${row.is_concept ? '/latest' : ''}`, options.baseUrl).href;
}

const GAUGES = {
  due: { name: 'doi_registrations_due', description: 'DOIs that wait for their registration with DataCite.' },
  failed: { name: 'doi_registrations_failed', description: 'DOIs that DataCite refused.' },
  oldest: {
    name: 'doi_registrations_oldest_seconds',
    description: 'Age of the oldest change of a DOI that DataCite does not have yet; 0 if it has all.',
    unit: 's',
  },
} as const;

function observeBacklog({ database, logger }: DoiRegistrationOptions): { stop(): void } {
  return observeGauges({
    meter: 'doi-registration',
    gauges: GAUGES,
    onFailed: (error) => logger.warn({ err: error }, 'DOIs could not be counted'),
    async read() {
      const { due, failed, oldestSeconds } = await readBacklog(database);
      return [
        { of: 'due', value: due },
        { of: 'failed', value: failed },
        { of: 'oldest', value: oldestSeconds },
      ];
    },
  });
}
