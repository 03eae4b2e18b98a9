import type { Condition } from './lower-query.ts';

/** Whether a query may take long: the engine compares each word of the documents with a part of it. */
export function isCostlyQuery(condition: Condition): boolean {
  switch (condition.type) {
    case 'bool':
      return [...condition.must, ...condition.should, ...condition.mustNot].some(isCostlyQuery);
    case 'prefix':
      return condition.pattern !== null;
    default:
      return condition.type === 'values' || condition.type === 'fuzzy';
  }
}
