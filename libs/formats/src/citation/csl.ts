import type { Entity, Person } from '../document/entity.ts';
import {
  addressOf,
  compact,
  descriptionOf,
  doiOf,
  isPerson,
  titleOf,
  typeProperty,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';

/** CSL JSON (citeproc), one item. */
export function cslItem(
  entity: Entity,
  context: Pick<FormatContext, 'vocabularies'>,
): Record<string, unknown> {
  const { metadata } = entity;
  return compact({
    id: entity.id,
    type: typeProperty(entity, 'csl', context) ?? 'document',
    title: titleOf(entity),
    abstract: descriptionOf(entity),
    author: metadata.creators?.map(name),
    contributor: metadata.contributors?.map(name),
    issued: issued(metadata.publication_date),
    language: metadata.languages?.[0]?.id,
    version: metadata.version,
    DOI: doiOf(entity),
    URL: addressOf(entity),
    publisher: metadata.publisher,
    keyword: metadata.subjects?.flatMap(({ subject }) => subject ?? []).join(', '),
  });
}

// The original platform writes organisations as family names.
function name(person: Person): Record<string, unknown> {
  const { family_name: family, given_name: given, name: whole } = person.person_or_org;
  return isPerson(person) ? compact({ family, given }) : { family: whole ?? '' };
}

function issued(date: string | undefined): Record<string, unknown> | undefined {
  const parts = (date ?? '')
    .split('/')
    .filter((part) => /^\d{4}(?:-\d\d){0,2}$/.test(part))
    .map((part) => part.split('-'));
  return parts.length === 0 ? undefined : { 'date-parts': parts };
}
