import type { Entity, Person } from '../document/entity.ts';
import {
  addressOf,
  doiOf,
  invertedName,
  isPerson,
  titleOf,
  typeProperty,
  yearOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';

/** CSL type → entry type that all BibTeX styles know. */
const ENTRY_TYPES: Readonly<Record<string, string>> = {
  'article-journal': 'article',
  article: 'misc',
  book: 'book',
  chapter: 'incollection',
  'paper-conference': 'inproceedings',
  report: 'techreport',
  thesis: 'phdthesis',
};

/** One BibTeX entry in UTF-8. */
export function bibtex(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): string {
  const { metadata } = entity;
  const [year, month] = (metadata.publication_date ?? '').split('/')[0]?.split('-') ?? [];
  const fields = [
    ['author', (metadata.creators ?? []).map(author).join(' and ')],
    ['title', `{${escapeTex(titleOf(entity))}}`],
    ['year', year],
    ['month', MONTHS[Number(month) - 1]],
    ['publisher', metadata.publisher && escapeTex(metadata.publisher)],
    ['version', metadata.version && escapeTex(metadata.version)],
    ['doi', doiOf(entity)?.replace(/[{}\\]/g, '')],
    ['url', addressOf(entity)],
  ] as const;
  const type = ENTRY_TYPES[typeProperty(entity, 'csl', context) ?? ''] ?? 'misc';
  const lines = fields.flatMap(([name, value]) => {
    if (value === undefined || value === '') return [];
    return name === 'month' ? [`  month = ${value}`] : [`  ${name} = {${value}}`];
  });
  return `@${type}{${keyOf(entity)},\n${lines.join(',\n')}\n}\n`;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Organisations are in braces, so that no style splits their names. */
function author(person: Person): string {
  const name = escapeTex(invertedName(person));
  return isPerson(person) ? name : `{${name}}`;
}

function keyOf(entity: Entity): string {
  const [first] = entity.metadata.creators ?? [];
  const family = first?.person_or_org.family_name ?? first?.person_or_org.name ?? '';
  const ascii = family.normalize('NFD').replace(/[^A-Za-z]/g, '');
  return `${ascii.toLowerCase()}_${yearOf(entity) ?? ''}_${entity.id}`.replace(/^_/, '');
}

const TEX: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '{': '\\{',
  '}': '\\}',
  '#': '\\#',
  $: '\\$',
  '%': '\\%',
  '&': '\\&',
  _: '\\_',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
};

function escapeTex(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\{}#$%&_~^]/g, (character) => TEX[character] ?? character);
}
