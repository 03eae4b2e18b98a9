/** A refresh shows all of them at once. */
const MOST_PARENTS = 5_000;

/**
 * What one process, alone, has written into an index since the last refresh. A refresh costs as much as writing some hundred
 * documents, and whoever writes others needs none: only siblings have to be seen.
 */
export function unseenParents() {
  let written = { index: '', parents: new Set<string>() };

  return {
    /**
     * Before documents of these parents are written.
     *
     * @returns whether a refresh has to come first
     */
    willWrite(index: string, parentIds: readonly string[]): boolean {
      const isKnown = written.index === index && written.parents.size < MOST_PARENTS;
      const needsRefresh = !isKnown || parentIds.some((id) => written.parents.has(id));
      if (needsRefresh) written = { index, parents: new Set() };
      for (const id of parentIds) written.parents.add(id);
      return needsRefresh;
    },
  };
}
