import type { VocabularyType } from '../vocabularies.ts';
import { type Field, isObject } from './field.ts';
import { identifiers, PERSON_SCHEMES } from './identifier.ts';
import { list } from './list.ts';
import { recordOf } from './record-of.ts';
import { email, text } from './text.ts';
import { vocabularyTerm } from './vocabulary-term.ts';

/** A person or an organisation; a person's `name` is derived as `<family>, <given>`. */
const personOrOrg = recordOf(
  {
    type: { field: text({ search: 'keyword', choices: ['personal', 'organizational'] }) },
    name: { field: text() },
    given_name: { field: text() },
    family_name: { field: text() },
    identifiers: { field: identifiers(PERSON_SCHEMES) },
    email: { field: email() },
  },
  {
    whole(checked, path, report) {
      const { type, family_name: family, given_name: given, name } = checked;
      if (type === 'personal') {
        if (family === undefined || family === '')
          report.add(`${path}.family_name`, 'Family name cannot be blank.');
        else if (typeof family === 'string')
          return { ...checked, name: given ? `${family}, ${given}` : family };
        return checked;
      }
      if (type === 'organizational') {
        if (name === undefined || name === '') report.add(`${path}.name`, 'Name cannot be blank.');
        const { family_name: _family, given_name: _given, ...organisation } = checked;
        return organisation;
      }
      report.add(`${path}.type`, "Invalid value. Choose one of ['organizational', 'personal'].");
      return checked;
    },
  },
);

/** An affiliation by id of the vocabulary or by free name; the id has precedence. */
const affiliation = namedEntry('affiliations', {
  missing: (path) => [`${path}.affiliations`, 'An existing id or a free text name must be present.'],
});

/** `{id}` of a vocabulary with its name in the public form, or a free `{name}`. */
export function namedEntry(
  type: VocabularyType,
  { missing }: { missing: (path: string) => readonly [field: string, message: string] },
): Field<{ id?: string; name?: string }> {
  return recordOf(
    { id: { field: text({ search: 'keyword' }) }, name: { field: text() } },
    {
      derived: ['identifiers', 'title', 'acronym'],
      whole(checked, path, report) {
        const { id, name } = checked;
        if (!id && !name) report.add(...missing(path));
        if (typeof id === 'string' && id !== '' && !report.vocabularies.lookup(type, id)) {
          // A name beside an unknown id makes the entry meaningful, as harvested documents need.
          if (!name) report.add(path, `Invalid value ${id}.`);
          return checked;
        }
        return id ? { id } : checked;
      },
      derive(rendered, vocabularies) {
        const term =
          typeof rendered['id'] === 'string' ? vocabularies.lookup(type, rendered['id']) : undefined;
        return term ? { id: term.id, name: term.title['en'] ?? term.id } : rendered;
      },
    },
  );
}

/** A person or organisation that created it, with an optional role. */
export const creator = toleratingEmptyRole(
  recordOf({
    person_or_org: { field: personOrOrg, required: true },
    role: { field: vocabularyTerm('creatorsroles') },
    affiliations: { field: list(affiliation) },
  }),
);

/** Somebody who helped, in a role. */
export const contributor = toleratingEmptyRole(
  recordOf({
    person_or_org: { field: personOrOrg, required: true },
    role: { field: vocabularyTerm('contributorsroles'), required: true },
    affiliations: { field: list(affiliation) },
  }),
);

function toleratingEmptyRole<Value>(field: Field<Value>): Field<Value> {
  return { ...field, check: (value, path, report) => field.check(withoutEmptyRole(value), path, report) };
}

/** Forms of the original's web client send `role: ""` for "none". */
function withoutEmptyRole(value: unknown): unknown {
  if (!isObject(value) || value['role'] !== '') return value;
  const { role: _role, ...rest } = value;
  return rest;
}
