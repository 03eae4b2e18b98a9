import type { Entity } from '../document/entity.ts';
import {
  accessRights,
  addressOf,
  descriptionOf,
  doiOf,
  invertedName,
  keywordsOf,
  labelOf,
  licenceName,
  licenceUrl,
  oneLine,
  pageOf,
  plainText,
  titleOf,
  typeProperty,
  urlOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { type Element, element, xmlDocument } from './xml.ts';

export function dublinCoreXml(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): string {
  return xmlDocument(dublinCoreElement(entity, context));
}

/** Simple Dublin Core as OAI-PMH requires it (`oai_dc`). */
export function dublinCoreElement(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): Element {
  const terms = dublinCoreTerms(entity, context).map(([name, value]) => element(`dc:${name}`, {}, value));
  return element(
    'oai_dc:dc',
    {
      'xmlns:oai_dc': 'http://www.openarchives.org/OAI/2.0/oai_dc/',
      'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation':
        'http://www.openarchives.org/OAI/2.0/oai_dc/ http://www.openarchives.org/OAI/2.0/oai_dc.xsd',
    },
    terms,
  );
}

/** Names of the fifteen elements with their values, repeated where there are several. */
export function dublinCoreTerms(
  entity: Entity,
  context: Pick<FormatContext, 'vocabularies'>,
): (readonly [name: string, value: string])[] {
  const { metadata } = entity;
  const doi = doiOf(entity);
  const terms: (readonly [string, string | undefined])[] = [
    ['title', titleOf(entity)],
    ...(metadata.additional_titles ?? []).map(({ title }) => ['title', oneLine(title)] as const),
    ...(metadata.creators ?? []).map((one) => ['creator', invertedName(one)] as const),
    ...keywordsOf(entity).map((keyword) => ['subject', keyword] as const),
    ['description', descriptionOf(entity)],
    ...(metadata.additional_descriptions ?? []).map(
      ({ description }) => ['description', plainText(description)] as const,
    ),
    ['publisher', metadata.publisher],
    ...(metadata.contributors ?? []).map((one) => ['contributor', invertedName(one)] as const),
    ['date', metadata.publication_date],
    ['type', typeProperty(entity, 'eurepo', context)],
    ['type', labelOf(metadata.resource_type)],
    ...(metadata.formats ?? []).map((format) => ['format', format] as const),
    ['identifier', addressOf(entity)],
    ['identifier', doi],
    ['identifier', pageOf(entity)],
    ['identifier', entity.pids?.oai?.identifier],
    ...(metadata.languages ?? []).map(({ id }) => ['language', id] as const),
    ...(metadata.related_identifiers ?? []).map((one) => ['relation', urlOf(one) ?? one.identifier] as const),
    ...(metadata.locations?.features ?? []).map(({ place }) => ['coverage', place] as const),
    ['rights', accessRights(entity).eurepo],
    ...(metadata.rights ?? []).flatMap((one) => [
      ['rights', licenceName(one)] as const,
      ['rights', licenceUrl(one)] as const,
    ]),
  ];
  const keys = new Set<string>();
  return terms.flatMap(([name, value]) => {
    const key = `${name} ${value}`;
    if (value === undefined || value === '' || keys.has(key)) return [];
    keys.add(key);
    return [[name, value] as const];
  });
}
