import type { Entity, Failed, Listing } from '../e2e/story/answers.ts';
import type { EntityRoute } from './entity-routes.ts';
import type { ChangeLog } from './http.ts';

/** An answer in few words: its status, for a refusal why, for a success what was seen. */
export function describe({ status, text }: ChangeLog, shows?: EntityRoute['shows']): string {
  if (status >= 400) return `${status}${whyOf(text)}`;
  if (shows === 'entity') return `${status}${partsOf(JSON.parse(text))}`;
  if (shows === 'versions') {
    const { hits } = JSON.parse(text) as Listing;
    return `${status} of ${hits.total}${hits.hits.map(partsOf).join(',')}`;
  }
  return String(status);
}

function whyOf(text: string): string {
  if (text === '') return '';
  const { message, errors = [] } = JSON.parse(text) as Failed;
  return ` ${message}${errors.length === 0 ? '' : `: ${errors.map(({ field }) => field).join(', ')}`}`;
}

function partsOf({ parent, versions }: Entity): string {
  return [
    ...(parent.access === undefined ? [] : [' with its owners']),
    ...(versions.is_latest_draft === undefined ? [] : [' with its drafts']),
  ].join('');
}

interface Buckets {
  buckets: { doc_count: number; inner?: unknown }[];
}

/** Whether a listing has an entity, or any trace of one: hits, total and the counts of its facets have to agree. */
export function describeListing({ status, text }: ChangeLog, id: string): string {
  if (status >= 400) return `${status}${whyOf(text)}`;
  const { hits, aggregations } = JSON.parse(text) as Listing;
  const counted = Object.values(aggregations as Record<string, Buckets>).some(({ buckets }) =>
    buckets.some(({ doc_count }) => doc_count > 0),
  );
  const ids = hits.hits.map((hit) => hit.id);
  if (hits.total === 0 && ids.length === 0 && !counted) return `${status} hidden`;
  const [hit] = hits.hits;
  if (hits.total === 1 && hit?.id === id) return `${status} shown${partsOf(hit)}`;
  return `${status} ${hits.total} of ${ids.join(', ')}${counted ? ', counted' : ''}`;
}
