import { type RefreshDeps, refreshListed } from './refresh-listed.ts';

/**
 * Writes anew what processes of the former release have written, which run beside those of this one while it is being
 * replaced, or have run since. An index that is not filled is left to its filling.
 */
export async function refreshFormer(deps: RefreshDeps): Promise<void> {
  const { engine } = deps;
  if (await engine.isFilled()) await refreshListed(deps, engine.writtenByFormer);
}
