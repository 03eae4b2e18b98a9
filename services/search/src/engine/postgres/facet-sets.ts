import { hash } from 'node:crypto';
import { storableText } from '../../index/storable-text.ts';

/** Facet entries that are kept once for all documents that have them. */
export interface FacetSet {
  /** The same for the same entries. */
  key: string;
  entries: readonly string[];
}

/** Facets with values that anybody makes up: together with others they would hardly ever recur. */
const FREE_FACETS: ReadonlySet<string> = new Set(['subject']);

export function isFree(facet: string): boolean {
  return FREE_FACETS.has(facet);
}

/** The sets of a document: first one with the entries of all facets but the free ones, then one for each free value. */
export function facetSets(facets: Readonly<Record<string, readonly string[]>>): FacetSet[] {
  const named = Object.entries(facets).sort(([one], [other]) => (one < other ? -1 : 1));
  const entriesOf = (wanted: boolean) =>
    named
      .filter(([facet]) => isFree(facet) === wanted)
      .flatMap(([facet, values]) => values.map((value) => storableText(facetEntry(facet, value))));
  return [facetSet(entriesOf(false)), ...entriesOf(true).map((entry) => facetSet([entry]))];
}

function facetSet(entries: readonly string[]): FacetSet {
  return { key: hash('sha256', JSON.stringify(entries), 'base64url'), entries };
}

/** How a value stands in a set: `facet=value`, or `facet::outer=inner`. */
export function facetEntry(facet: string, value: string): string {
  const separator = facet === 'resource_type' ? value.indexOf('::') : -1;
  if (separator < 0) return `${facet}=${value}`;
  return `${facet}::${value.slice(0, separator)}=${value.slice(separator + 2)}`;
}

/** What `facetEntry` has put together: the name that counts are told under, the facet that it is of, and the value. */
export function readFacetEntry(entry: string): { name: string; facet: string; value: string } {
  const end = entry.indexOf('=');
  const name = entry.slice(0, end);
  return { name, facet: name.split('::', 1)[0] ?? name, value: entry.slice(end + 1) };
}
