import type { Report } from '../report.ts';
import { isObject, plain } from './field.ts';
import { identifiers, WORK_SCHEMES } from './identifier.ts';
import { namedEntry } from './person-or-org.ts';
import { recordOf } from './record-of.ts';
import { isText, text } from './text.ts';

/** An award by id of the vocabulary, or free number and title. */
const award = recordOf(
  {
    id: { field: text({ search: 'keyword' }) },
    number: { field: text({ search: 'keyword' }) },
    title: { field: plain<Record<string, string>>({ is: 'languages' }, (value) => value) },
    identifiers: { field: identifiers(WORK_SCHEMES) },
    acronym: { field: text({ search: 'keyword' }) },
    icon: { field: text({ search: 'keyword' }) },
    disclaimer: { field: text() },
  },
  {
    derived: ['funder', 'program'],
    whole(checked, path, report) {
      const { id, number, title } = checked;
      if (!id && !number && !title)
        report.add(`${path}.award`, 'An existing id or number/title must be present.');
      else if (!id && title !== undefined) checkTitle(title, `${path}.title`, report);
      if (
        typeof id === 'string' &&
        id !== '' &&
        !report.vocabularies.lookup('awards', id) &&
        !number &&
        !title
      ) {
        report.add(path, `Invalid value ${id}.`);
      }
      return checked;
    },
  },
);

/** Beside an id, the title is only a copy from an earlier answer, and is ignored. */
function checkTitle(title: unknown, path: string, report: Report): void {
  if (!isObject(title)) {
    report.add(path, 'Not a valid mapping type.');
    return;
  }
  for (const [language, value] of Object.entries(title)) isText(value, `${path}.${language}`, report);
}

/** The funding: a funder, and the award if there is one. */
export const funding = recordOf({
  funder: {
    field: namedEntry('funders', {
      missing: (path) => [`${path}.funder`, 'An existing id or a free text name must be present.'],
    }),
    required: true,
  },
  award: { field: award },
});
