import { lookup } from '../vocabularies.ts';
import { type Field, isObject } from './field.ts';
import { identifiers, WORK_SCHEMES } from './identifier.ts';
import { namedEntry } from './person-or-org.ts';
import { recordOf } from './record-of.ts';
import { text } from './text.ts';

/** An award by id of the vocabulary, or free number and title. */
const award: Field = recordOf(
  {
    id: { field: text() },
    number: { field: text() },
    title: { field: { check: (value) => value, render: (kept) => kept } },
    identifiers: { field: identifiers(WORK_SCHEMES) },
    acronym: { field: text() },
    icon: { field: text() },
    disclaimer: { field: text() },
  },
  {
    derived: ['funder', 'program'],
    whole(kept, path, report) {
      const { id, number, title } = kept;
      if (!id && !number && !title)
        report.add(`${path}.award`, 'An existing id or number/title must be present.');
      else if (!id && title !== undefined && !isObject(title))
        report.add(`${path}.title`, 'Not a valid mapping type.');
      if (typeof id === 'string' && id !== '' && !lookup('awards', id) && !number && !title) {
        report.add(path, `Invalid value ${id}.`);
      }
      return kept;
    },
  },
);

/** Who paid: a funder, and the award if there is one. */
export const funding: Field = recordOf({
  funder: {
    field: namedEntry('funders', {
      missing: (path) => [`${path}.funder`, 'An existing id or a free text name must be present.'],
    }),
    required: true,
  },
  award: { field: award },
});
