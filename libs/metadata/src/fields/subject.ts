import { recordOf } from './record-of.ts';
import { text } from './text.ts';

/** A subject of a vocabulary by id, or a free one. */
export const subject = recordOf(
  { id: { field: text({ search: 'keyword' }) }, subject: { field: text() } },
  {
    derived: ['scheme', 'title', 'props'],
    whole(checked, path, report) {
      const { id, subject: free } = checked;
      if (!id && !free) {
        report.add(`${path}.subjects`, 'An existing id or a free text subject must be present.');
        return checked;
      }
      if (typeof id !== 'string' || id === '') return checked;
      if (!report.vocabularies.lookup('subjects', id)) {
        report.add(path, `Invalid value ${id}.`);
        return checked;
      }
      return { id };
    },
    derive(rendered, vocabularies) {
      const term =
        typeof rendered['id'] === 'string' ? vocabularies.lookup('subjects', rendered['id']) : undefined;
      return term ? { id: term.id, subject: term.title['en'], scheme: term.props?.['scheme'] } : rendered;
    },
  },
);
