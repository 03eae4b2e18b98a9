import type { EntityKind } from '../engine/search-engine.ts';

/** How many ids the next page of a kind has at most. */
export type PageSize = (kind: EntityKind) => number;

export interface IdPage {
  kind: EntityKind;
  ids: readonly string[];
}

/** All ids there are, page by page, the resources before the packages; ends early at the signal. */
export async function* pagesOf(
  list: (kind: EntityKind, afterId: string, limit: number) => Promise<readonly string[]>,
  size: PageSize,
  signal: AbortSignal,
): AsyncGenerator<IdPage> {
  for (const kind of ['record', 'package'] as const) {
    let afterId = '';
    while (!signal.aborted) {
      const ids = await list(kind, afterId, size(kind));
      const last = ids.at(-1);
      if (last === undefined) break;
      yield { kind, ids };
      afterId = last;
    }
  }
}
