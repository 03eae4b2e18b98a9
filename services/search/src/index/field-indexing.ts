import { type FieldWeight, fieldType, fieldWeight, hasKeywordTwin, isHtmlField } from './fields.ts';
import { existsLexeme } from './lexemes.ts';

/** How the values of one field are indexed. */
export interface FieldIndexing {
  /** The lexemes of `a.b.c`, `a.b` and `a`. */
  exists: readonly string[];
  weight: FieldWeight;
  isText: boolean;
  isHtml: boolean;
  /** The field that holds the whole value; undefined when none does. */
  keywordField: string | undefined;
}

export function fieldIndexing(field: string): FieldIndexing {
  const isText = fieldType(field) === 'text';
  return {
    exists: pathPrefixes(field).map(existsLexeme),
    weight: fieldWeight(field),
    isText,
    isHtml: isHtmlField(field),
    keywordField: isText ? (hasKeywordTwin(field) ? `${field}.keyword` : undefined) : field,
  };
}

/** `a.b.c` → `a.b.c`, `a.b`, `a`. */
function pathPrefixes(field: string): string[] {
  const parts = field.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
}

/** Documents have some hundred fields, and nearly all of them the same; those beyond are read each time. */
const MOST_KNOWN = 1_000;

/** What a function says of a field, kept for the next time. */
export function keptByField<Said>(read: (field: string) => Said): (field: string) => Said {
  const known = new Map<string, Said>();
  return (field) => {
    const before = known.get(field);
    if (before !== undefined) return before;
    const said = read(field);
    if (known.size < MOST_KNOWN) known.set(field, said);
    return said;
  };
}
