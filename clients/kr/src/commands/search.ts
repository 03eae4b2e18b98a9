import { COLLECTIONS, type Entity, type EntityKind, kindOf } from '../api/entity.ts';
import type { CommandContext } from './context.ts';

export interface SearchOptions {
  kind?: EntityKind;
  size: number;
  page: number;
  sort?: string;
  json: boolean;
}

interface SearchAnswer {
  hits: { hits: readonly Entity[]; total: number };
}

/** `kr search Q`: what is published and may be read, a line for each hit. */
export async function search(
  { terminal, connect }: CommandContext,
  q: string,
  options: SearchOptions,
): Promise<void> {
  const api = await connect();
  const { kind, size, page, sort, json } = options;
  const answer = await api.call<SearchAnswer>({
    method: 'GET',
    target: kind === undefined ? '/api/search' : COLLECTIONS[kind],
    query: {
      ...(q === '' ? {} : { q }),
      size: `${size}`,
      page: `${page}`,
      ...(sort === undefined ? {} : { sort }),
    },
  });
  if (json) {
    terminal.print(JSON.stringify(answer, null, 2));
    return;
  }
  const { hits, total } = answer.hits;
  for (const hit of hits) {
    terminal.print(
      `${hit.id}  ${kindOf(hit).padEnd(7)}  ${hit.metadata.publication_date ?? ''}  ${hit.metadata.title ?? ''}`,
    );
  }
  terminal.note(`${hits.length} of ${total} hits`);
}
