import type { Logger } from '@kr/telemetry';
import type { SearchEngine } from '../engine/search-engine.ts';
import type { EntitySource } from '../sources/entity-source.ts';
import { bytesOf, eachPage } from './each-page.ts';
import type { GiveWay } from './give-way.ts';
import { type PageSize, pagesOf } from './pages-of.ts';
import { writeApart } from './write-apart.ts';

export interface RebuildIndexDeps {
  engine: SearchEngine;
  source: EntitySource;
  giveWay: GiveWay;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Indexes everything there is, page by page in id order, beside whatever events bring meanwhile: the newer state of
 * each form wins. What the engine refuses is left out and told of. May be stopped and begun again.
 *
 * @returns the number of entities, and of forms that were left out
 * @throws Error when nothing was taken of what there is
 */
export async function rebuildIndex({
  engine,
  source,
  giveWay,
  logger,
  signal,
}: RebuildIndexDeps): Promise<{ entities: number; refused: number }> {
  let [entities, written] = [0, 0];
  const refused: Error[] = [];
  const pages = (size: PageSize) => pagesOf(source.list, size, signal);
  await eachPage(pages, giveWay, async ({ kind, ids }) => {
    const forms = await source.fetch(kind, ids);
    const left = await writeApart(forms, (unannounced) => engine.write({ unannounced }), logger);
    entities += ids.length;
    written += forms.length - left.length;
    refused.push(...left);
    return bytesOf(forms);
  });
  if (written === 0 && refused[0]) throw refused[0];
  return { entities, refused: refused.length };
}
