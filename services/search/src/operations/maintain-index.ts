import type { Logger } from '@kr/telemetry';
import { ENTITY_KINDS } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type EntitySource, fetchReadable } from '../sources/entity-source.ts';
import { pauseUnlessStopped } from './pages.ts';
import { writeIsolatingFailures } from './write-isolating-failures.ts';

export interface MaintenanceDeps {
  index: SearchIndex;
  source: EntitySource;
  logger: Logger;
  now: () => Date;
}

const INTERVAL_MS = 60_000;
/** Longer than the stream keeps events: no event older than a deleted tombstone can still arrive. */
const TOMBSTONE_LIFE_MS = 30 * 86_400_000;
const BATCH = 200;

/** Periodic work on the index; `stop` waits for the task in progress. */
export function startMaintenance(deps: MaintenanceDeps): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = maintain(deps, stopping.signal);
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

async function maintain(deps: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  const { index, logger, now } = deps;
  const tasks = [
    () => refreshEmbargoes(deps, signal),
    () => index.deleteOldTombstones(new Date(now().getTime() - TOMBSTONE_LIFE_MS)),
    () => index.dropFormer(),
  ];
  while (!signal.aborted) {
    for (const task of tasks) {
      // A task that always fails does not prevent the others.
      await task().catch((error: unknown) =>
        logger.warn({ err: error }, 'maintenance of the index failed, trying later'),
      );
    }
    await pauseUnlessStopped(INTERVAL_MS, signal);
  }
}

/**
 * Updates the documents of entities whose embargo has ended. Access does not wait for this: a search compares the end
 * of the embargo with the clock. Entities that cannot be read or that the engine rejects are retried the next time.
 */
export async function refreshEmbargoes(
  { index, source, logger, now }: MaintenanceDeps,
  signal: AbortSignal,
): Promise<void> {
  const today = now();
  for (let afterId: string | undefined = ''; afterId !== undefined && !signal.aborted; ) {
    const page = await index.withPassedEmbargo(today, afterId, BATCH);
    for (const kind of ENTITY_KINDS) {
      const ids = page.filter((entity) => entity.kind === kind).map(({ id }) => id);
      if (ids.length === 0) continue;
      const { entities } = await fetchReadable(source, logger, kind, ids);
      await writeIsolatingFailures(entities, (staged) => index.write({ staged }), logger);
    }
    afterId = page.at(-1)?.id;
  }
}
