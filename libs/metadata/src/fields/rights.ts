import { MESSAGES, type Report } from '../report.ts';
import { type Field, isObject, type ValueOf } from './field.ts';
import { recordOf } from './record-of.ts';
import { isText, url } from './text.ts';

const SITE_LANGUAGES = ['en', 'de', 'tr'];

/** A text in one language: `{en: "…"}`. */
function inOneLanguage(): Field<Record<string, string>> {
  return {
    describes: { is: 'languages' },
    check(value, path, report: Report) {
      if (!isObject(value)) {
        report.add(path, value === null ? MESSAGES.nil : 'Not a valid mapping type.');
        return value;
      }
      const languages = Object.keys(value);
      if (languages.length > 1) report.add(path, 'Only one value is accepted.');
      if (languages.some((language) => !SITE_LANGUAGES.includes(language)))
        report.add(path, 'Not a valid locale.');
      for (const language of languages) isText(value[language], `${path}.${language}`, report);
      return value;
    },
    render: (checked) => checked,
  };
}

const freeRights = recordOf(
  {
    title: { field: inOneLanguage() },
    description: { field: inOneLanguage() },
    link: { field: url() },
  },
  { derived: ['icon', 'props'] },
);

/** A licence of the vocabulary by id, or free title, description and link; never both. */
export const rights: Field<{ id: string } | ValueOf<typeof freeRights>> = {
  describes: {
    is: 'object',
    members: {
      id: { is: 'text', search: 'keyword' },
      title: { is: 'languages' },
      description: { is: 'languages' },
      link: { is: 'text', search: 'keyword', format: 'uri' },
    },
    required: [],
    derived: ['icon', 'props'],
  },
  check(value, path, report) {
    if (!isObject(value) || value['id'] === undefined || value['id'] === '') {
      const checked = freeRights.check(value, path, report);
      if (isObject(value) && value['title'] === undefined) {
        report.add(`${path}.rights`, 'An existing id or a free text title must be present');
      }
      return checked;
    }
    const { id } = value;
    if (!isText(id, `${path}.id`, report)) return value;
    if (value['link'] !== undefined) {
      report.add(
        `${path}.rights`,
        'Only an existing id or free text title/description/link is accepted, but not both cases at the same time',
      );
      return value;
    }
    for (const name of Object.keys(value)) {
      if (!['id', 'title', 'description', 'icon', 'props'].includes(name))
        report.add(`${path}.${name}`, MESSAGES.unknown);
    }
    if (!report.vocabularies.lookup('licenses', id)) {
      report.add(path, `Invalid value ${id}.`);
      return value;
    }
    return { id };
  },
  render(checked, vocabularies) {
    const term =
      isObject(checked) && typeof checked['id'] === 'string'
        ? vocabularies.lookup('licenses', checked['id'])
        : undefined;
    if (!term) return checked;
    const { id, title, description, icon, props } = term;
    return {
      id,
      title,
      ...(description ? { description } : {}),
      ...(icon ? { icon } : {}),
      ...(props ? { props } : {}),
    };
  },
};
