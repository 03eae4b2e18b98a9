import type { Place, Sort } from '../search-engine.ts';
import type { Parameters } from './parameters.ts';

export type FieldSort = Exclude<Sort, 'bestmatch'>;

const TIES = 'd.id COLLATE "C", d.form';
/** What each sort orders the rows of `index_document`, or of what is selected from it, by; aliased `d`. */
export const ORDER: Readonly<Record<FieldSort, string>> = {
  newest: `d.created_at DESC, ${TIES}`,
  oldest: `d.created_at, ${TIES}`,
  version: `d.version_index DESC, d.created_at DESC, ${TIES}`,
  'updated-desc': `d.updated_at DESC, ${TIES}`,
  'updated-asc': `d.updated_at, ${TIES}`,
};

/** The condition of what comes after a place in the order of a sort. */
export function behind(place: Place, sort: FieldSort, parameters: Parameters): string {
  const id = parameters.add(place.id);
  const form = parameters.add(place.form);
  const ties = `(${TIES}) > (${id}, ${form})`;
  const instant = (text: string) => `${parameters.add(text)}::timestamptz`;
  // The first condition is one that an index can begin at.
  const beyond = (column: string, isDescending: boolean, value: string, equal: string) => {
    const sign = isDescending ? '<' : '>';
    return `(${column} ${sign}= ${value} AND (${column} ${sign} ${value} OR ${equal}))`;
  };
  switch (sort) {
    case 'newest':
    case 'oldest':
      return beyond('d.created_at', sort === 'newest', instant(place.createdAt), ties);
    case 'updated-desc':
    case 'updated-asc':
      return beyond('d.updated_at', sort === 'updated-desc', instant(place.updatedAt), ties);
    case 'version': {
      const version = `${parameters.add(place.versionIndex)}::integer`;
      return beyond(
        'd.version_index',
        true,
        version,
        beyond('d.created_at', true, instant(place.createdAt), ties),
      );
    }
  }
}
