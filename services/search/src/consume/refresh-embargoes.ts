import { type RefreshDeps, refreshListed } from './refresh-listed.ts';

/**
 * Fetches what an embargo has released, so that its documents say so. Who may find it is not waiting for this: a
 * search compares the end of the embargo with the clock.
 */
export async function refreshEmbargoes(deps: RefreshDeps, now: Date): Promise<void> {
  await refreshListed(deps, (afterId, limit) => deps.engine.withPassedEmbargo(now, afterId, limit));
}
