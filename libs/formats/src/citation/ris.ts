import type { Entity } from '../document/entity.ts';
import {
  addressOf,
  descriptionOf,
  doiOf,
  invertedName,
  keywordsOf,
  titleOf,
  typeProperty,
  yearOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';

const TYPES: Readonly<Record<string, string>> = {
  'article-journal': 'JOUR',
  article: 'GEN',
  book: 'BOOK',
  chapter: 'CHAP',
  dataset: 'DATA',
  'paper-conference': 'CONF',
  report: 'RPRT',
  software: 'COMP',
  thesis: 'THES',
};

/** One RIS record; lines end with CR LF. */
export function ris(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): string {
  const { metadata } = entity;
  const [year = '', month = '', day = ''] = (metadata.publication_date ?? '').split('/')[0]?.split('-') ?? [];
  const tags: (readonly [tag: string, value: string | undefined])[] = [
    ['TY', TYPES[typeProperty(entity, 'csl', context) ?? ''] ?? 'GEN'],
    ['ID', entity.id],
    ...(metadata.creators ?? []).map((person) => ['AU', invertedName(person)] as const),
    ['T1', titleOf(entity)],
    ['PY', yearOf(entity)],
    ['DA', year && `${year}/${month}/${day}/`],
    ['PB', metadata.publisher],
    ['ET', metadata.version],
    ['LA', metadata.languages?.[0]?.id],
    ...keywordsOf(entity).map((keyword) => ['KW', keyword] as const),
    ['AB', descriptionOf(entity)],
    ['DO', doiOf(entity)],
    ['UR', addressOf(entity)],
  ];
  const lines = tags.flatMap(([tag, value]) =>
    value === undefined || value === '' ? [] : [`${tag}  - ${value.replace(/\s+/g, ' ').trim()}`],
  );
  return `${[...lines, 'ER  - '].join('\r\n')}\r\n`;
}
