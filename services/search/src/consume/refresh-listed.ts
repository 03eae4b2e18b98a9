import type { Logger } from '@kr/telemetry';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { fetchEntities, type KnownEntity } from '../sources/fetch-entities.ts';
import { writeApart } from './write-apart.ts';

const BATCH = 200;

export interface RefreshDeps {
  engine: SearchEngine;
  source: EntitySource;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Writes anew what the index lists, page by page. What the engine refuses is listed the next time too, and keeps nothing
 * from what stands beside or behind it.
 */
export async function refreshListed(
  { engine, source, logger, signal }: RefreshDeps,
  list: (afterId: string, limit: number) => Promise<readonly KnownEntity[]>,
): Promise<void> {
  for (let afterId: string | undefined = ''; afterId !== undefined && !signal.aborted; ) {
    const listed: readonly KnownEntity[] = await list(afterId, BATCH);
    const forms = await fetchEntities(source, listed);
    await writeApart(forms, (unannounced) => engine.write({ unannounced }), logger);
    afterId = listed.at(-1)?.id;
  }
}
