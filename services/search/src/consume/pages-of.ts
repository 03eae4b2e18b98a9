import type { EntityKind } from '../engine/search-engine.ts';

export interface IdPage {
  kind: EntityKind;
  ids: readonly string[];
}

/** All ids there are, page by page, the resources before the packages; ends early at the signal. */
export async function* pagesOf(
  list: (kind: EntityKind, afterId: string) => Promise<readonly string[]>,
  signal: AbortSignal,
): AsyncGenerator<IdPage> {
  for (const kind of ['record', 'package'] as const) {
    let afterId = '';
    while (!signal.aborted) {
      const ids = await list(kind, afterId);
      const last = ids.at(-1);
      if (last === undefined) break;
      yield { kind, ids };
      afterId = last;
    }
  }
}
