import { fieldType } from '../documents/fields.ts';
import type { QueryNode, RangeNode, WildcardNode } from './query-tree.ts';

type Scan = WildcardNode | RangeNode;

/** The clauses that no index answers: the engine compares each word of the documents with them. */
export function scansOf(node: QueryNode): Scan[] {
  switch (node.type) {
    case 'bool':
      return [...node.must, ...node.should, ...node.mustNot]
        .flatMap(scansOf)
        .sort((one, other) => one.position - other.position);
    case 'wildcard':
      return node.parts.slice(1).every((part) => 'any' in part && part.any === 'many') ? [] : [node];
    case 'range': {
      const isBounded = node.lower !== null || node.upper !== null;
      return isBounded && ['text', 'keyword'].includes(fieldType(node.field)) ? [node] : [];
    }
    default:
      return [];
  }
}

/** Whether a query may take long: it scans words, or looks for similar ones. */
export function isCostlyQuery(node: QueryNode): boolean {
  return scansOf(node).length > 0 || hasFuzzy(node);
}

function hasFuzzy(node: QueryNode): boolean {
  if (node.type === 'bool') return [...node.must, ...node.should, ...node.mustNot].some(hasFuzzy);
  return node.type === 'fuzzy';
}
