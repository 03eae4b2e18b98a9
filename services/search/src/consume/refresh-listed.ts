import type { Logger } from '@kr/telemetry';
import type { IndexedEntity, SearchEngine } from '../engine/search-engine.ts';
import { type EntitySource, fetchReadable, type KnownEntity } from '../sources/entity-source.ts';
import { writeApart } from './write-apart.ts';

const BATCH = 200;

export interface RefreshDeps {
  engine: SearchEngine;
  source: EntitySource;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Writes anew what the index lists, page by page. What cannot be read and what the engine refuses is listed the next time
 * too, and keeps nothing from what stands beside or behind it.
 */
async function refreshListed(
  { engine, source, logger, signal }: RefreshDeps,
  list: (afterId: string, limit: number) => Promise<readonly KnownEntity[]>,
): Promise<void> {
  for (let afterId: string | undefined = ''; afterId !== undefined && !signal.aborted; ) {
    const listed: readonly KnownEntity[] = await list(afterId, BATCH);
    const forms: IndexedEntity[] = [];
    for (const wanted of ['record', 'package'] as const) {
      const ids = listed.filter(({ kind }) => kind === wanted).map(({ id }) => id);
      if (ids.length > 0) forms.push(...(await fetchReadable(source, logger, wanted, ids)).entities);
    }
    await writeApart(forms, (unannounced) => engine.write({ unannounced }), logger);
    afterId = listed.at(-1)?.id;
  }
}

/**
 * Fetches what an embargo has released, so that its documents say so. Who may find it is not waiting for this: a
 * search compares the end of the embargo with the clock.
 */
export async function refreshEmbargoes(deps: RefreshDeps, now: Date): Promise<void> {
  await refreshListed(deps, (afterId, limit) => deps.engine.withPassedEmbargo(now, afterId, limit));
}
