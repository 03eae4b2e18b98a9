import { type FieldReport, MESSAGES } from '../report.ts';
import type { Term, Vocabularies, VocabularyType } from '../vocabularies.ts';
import { type Field, isObject, type JsonObject } from './field.ts';

/** A term as it is sent. */
export interface TermRef {
  id: string;
}

/** `{id}` of a vocabulary; titles and other parts that a GET had added are ignored. */
export function vocabularyTerm(type: VocabularyType): Field<TermRef> {
  return {
    describes: { is: 'term', vocabulary: type },
    check(value, path, report) {
      if (!isObject(value)) {
        if (value === null) report.add(path, MESSAGES.nil);
        else report.add(`${path}._schema`, MESSAGES.notObject);
        return value;
      }
      for (const name of Object.keys(value)) {
        if (name !== 'id' && !TERM_PARTS.includes(name)) report.add(`${path}.${name}`, MESSAGES.unknown);
      }
      const id = checkTermId(type, value, path, report);
      return id === undefined ? { ...value } : { id };
    },
    render(checked, vocabularies) {
      const term = termOf(vocabularies, type, checked);
      return term ? { id: term.id, title: term.title } : checked;
    },
  };
}

const TERM_PARTS = ['title', 'description', 'icon', 'props', 'tags'];

/** The id if the vocabulary has it; otherwise reports why not. */
function checkTermId(
  type: VocabularyType,
  value: JsonObject,
  path: string,
  { add, vocabularies }: FieldReport,
): string | undefined {
  const { id } = value;
  if (id === undefined) add(`${path}.id`, MESSAGES.missing);
  else if (id === null) add(`${path}.id`, MESSAGES.nil);
  else if (typeof id !== 'string') add(`${path}.id`, MESSAGES.notText);
  else if (!vocabularies.lookup(type, id)) add(path, `Invalid value ${id}.`);
  else return id;
  return undefined;
}

/** The term that a stored value names, if any. */
export function termOf(vocabularies: Vocabularies, type: VocabularyType, checked: unknown): Term | undefined {
  return isObject(checked) && typeof checked['id'] === 'string'
    ? vocabularies.lookup(type, checked['id'])
    : undefined;
}
