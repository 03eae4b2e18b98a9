import type { DocumentedField } from '@kr/metadata';

/** Purpose of each top-level field. Members of objects are explained by their names and types. */
const MEANINGS: Readonly<Record<string, string>> = {
  resource_type:
    'The kind of resource: a dataset, an article, software … Packages are always `knowledge` and send none.',
  creators: 'People and organisations to cite, in order.',
  title: 'The title to cite.',
  additional_titles: 'Subtitles, translations and other titles.',
  publisher: 'The organisation that publishes it. Required for a DOI.',
  publication_date: 'When it was or will be published.',
  subjects: 'Topics: entries of the vocabulary `subjects`, or free keywords.',
  contributors: 'People and organisations that helped, each in a role.',
  dates: 'Other dates, such as when data were collected.',
  languages: 'Languages of the content.',
  identifiers: 'Identifiers of the same work elsewhere, at most one for each scheme.',
  related_identifiers: 'Identifiers of other works, with the relation to them.',
  sizes: 'Sizes as text, such as `15 pages`.',
  formats: 'Formats as text, such as `text/csv`.',
  version: 'The version as its authors name it, such as `v2.1.0`.',
  rights: 'Licences: an entry of the vocabulary `licenses`, or a title, description and link.',
  description: 'The abstract.',
  additional_descriptions: 'Methods, technical information, tables of contents and other texts.',
  locations:
    'Places and areas on the map; `features` as in GeoJSON. Coordinates are longitude, latitude (WGS 84).',
  funding: 'Funders and awards: entries of the vocabularies, or free text.',
  references: 'Works that it cites.',
  target_audiences: 'The intended audience.',
  geo_work_programme_activity: 'The activity of the GEO Work Programme that it belongs to.',
  engagement_priorities: 'Global goals and conventions that it serves.',
};

const HEAD = `# Metadata fields

All fields of \`metadata\` in the body of a resource or a package. Both kinds have the same fields; required ones are
checked when a draft is published, so an incomplete draft can always be saved. \`[]\` marks the items of a list. Entries of vocabularies
are found at \`/api/vocabularies/{type}?suggest=…\` ([vocabularies.md](vocabularies.md)). Answers add titles and other derived
members; they are ignored when a document is sent back. \`npm run deploy -- metadata\` writes this page from the schema.

\`\`\`json
{
  "metadata": {
    "resource_type": { "id": "dataset" },
    "title": "River levels of the Danube delta",
    "publication_date": "2026-05-04",
    "publisher": "Delta Observatory",
    "creators": [
      {
        "person_or_org": {
          "type": "personal",
          "family_name": "Popescu",
          "given_name": "Ana",
          "identifiers": [{ "identifier": "0000-0002-1825-0097" }]
        },
        "affiliations": [{ "name": "Delta Observatory" }]
      }
    ],
    "languages": [{ "id": "eng" }],
    "rights": [{ "id": "cc-by-4.0" }],
    "subjects": [{ "subject": "hydrology" }],
    "locations": {
      "features": [{ "place": "Tulcea", "geometry": { "type": "Point", "coordinates": [28.8, 45.17] } }]
    }
  }
}
\`\`\`
`;

/** The page of all metadata fields, in Markdown. @throws Error naming a field without a meaning */
export function metadataPage(fields: readonly DocumentedField[]): string {
  const sections = Map.groupBy(fields, ({ path }) => topLevel(path));
  return [HEAD, ...[...sections].map(([name, rows]) => section(name, rows))].join('\n');
}

function section(name: string, rows: readonly DocumentedField[]): string {
  const meaning = MEANINGS[name];
  if (meaning === undefined)
    throw new Error(`the metadata field ${name} has no meaning for docs/metadata.md`);
  const lines = rows.map(
    ({ path, type, isRequired }) => `| \`${path}\` | ${type} | ${isRequired ? 'yes' : ''} |\n`,
  );
  return `## ${name}\n\n${meaning}\n\n| field | type | required |\n|---|---|---|\n${lines.join('')}`;
}

function topLevel(path: string): string {
  return path.split(/[.[]/, 1)[0] ?? path;
}
