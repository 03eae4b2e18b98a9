import type { Logger } from '@kr/telemetry';
import type { IndexedEntity } from '../documents/entity.ts';
import type { SearchIndex } from '../index/search-index.ts';
import { type EntitySource, fetchReadable, type KnownEntity } from '../sources/entity-source.ts';
import { writeIsolatingFailures } from './write-isolating-failures.ts';

const BATCH = 200;

export interface RefreshDeps {
  index: SearchIndex;
  source: EntitySource;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Rewrites the forms that the index lists, page by page. Entities that cannot be read or that the engine refuses are listed the next time
 * too, and do not prevent the update of others.
 */
async function refreshListed(
  { index, source, logger, signal }: RefreshDeps,
  list: (afterId: string, limit: number) => Promise<readonly KnownEntity[]>,
): Promise<void> {
  for (let afterId: string | undefined = ''; afterId !== undefined && !signal.aborted; ) {
    const listed: readonly KnownEntity[] = await list(afterId, BATCH);
    const forms: IndexedEntity[] = [];
    for (const wanted of ['record', 'package'] as const) {
      const ids = listed.filter(({ kind }) => kind === wanted).map(({ id }) => id);
      if (ids.length > 0) forms.push(...(await fetchReadable(source, logger, wanted, ids)).entities);
    }
    await writeIsolatingFailures(forms, (staged) => index.write({ staged }), logger);
    afterId = listed.at(-1)?.id;
  }
}

/**
 * Fetches entities whose embargo has ended, to update their documents. Access does not wait for this: a
 * search compares the end of the embargo with the clock.
 */
export async function refreshEmbargoes(deps: RefreshDeps, now: Date): Promise<void> {
  await refreshListed(deps, (afterId, limit) => deps.index.withPassedEmbargo(now, afterId, limit));
}
