import type { Entity, Person } from '../document/entity.ts';
import {
  accessRights,
  descriptionOf,
  doiOf,
  instantOf,
  invertedName,
  isPerson,
  keywordsOf,
  licenceName,
  licenceUrl,
  orcidUrl,
  pageOf,
  titleOf,
  urlOf,
} from '../document/fields.ts';
import { type Content, type Element, element, xmlDocument } from './xml.ts';

export function marcXml(entity: Entity): string {
  return xmlDocument(marcElement(entity));
}

type Subfields = readonly (readonly [code: string, value: string | undefined])[];

/** MARC 21 as MARCXML. @see https://www.loc.gov/standards/marcxml/ */
export function marcElement(entity: Entity): Element {
  const { metadata } = entity;
  const [first, ...others] = metadata.creators ?? [];
  const doi = doiOf(entity);
  const language = metadata.languages?.[0]?.id;
  return element(
    'record',
    { xmlns: 'http://www.loc.gov/MARC21/slim' },
    element('leader', {}, '00000nam a2200000uu 4500'),
    element('controlfield', { tag: '001' }, entity.id),
    element('controlfield', { tag: '005' }, `${instantOf(entity.updated).replace(/\D/g, '').slice(0, 14)}.0`),
    doi &&
      field('024', '7 ', [
        ['a', doi],
        ['2', 'doi'],
      ]),
    entity.pids?.oai && field('024', '8 ', [['a', entity.pids.oai.identifier]]),
    language && field('041', '  ', [['a', language]]),
    first && field(isPerson(first) ? '100' : '110', isPerson(first) ? '1 ' : '2 ', person(first)),
    field('245', '00', [['a', titleOf(entity)]]),
    metadata.version && field('250', '  ', [['a', metadata.version]]),
    field('264', ' 1', [
      ['b', metadata.publisher],
      ['c', metadata.publication_date],
    ]),
    descriptionOf(entity) && field('520', '  ', [['a', descriptionOf(entity)]]),
    field('506', '0 ', [['a', accessRights(entity).isOpen ? 'Open access' : 'Restricted access']]),
    (metadata.rights ?? []).map((one) =>
      field('540', '  ', [
        ['a', licenceName(one)],
        ['u', licenceUrl(one)],
      ]),
    ),
    keywordsOf(entity).map((keyword) => field('653', '0 ', [['a', keyword]])),
    [...others, ...(metadata.contributors ?? [])].map((one) =>
      field(isPerson(one) ? '700' : '710', isPerson(one) ? '1 ' : '2 ', person(one)),
    ),
    (metadata.related_identifiers ?? []).map((one) =>
      field('787', '0 ', [
        ['i', one.relation_type?.id],
        ['o', urlOf(one) ?? one.identifier],
      ]),
    ),
    field('856', '40', [['u', pageOf(entity)]]),
  );
}

function person(one: Person): Subfields {
  return [
    ['a', invertedName(one)],
    ['u', one.affiliations?.flatMap(({ name }) => name ?? []).join('; ')],
    ['0', orcidUrl(one)],
  ];
}

function field(tag: string, indicators: string, subfields: Subfields): Content {
  const [ind1 = ' ', ind2 = ' '] = indicators;
  const elements = subfields.flatMap(([code, value]) =>
    value === undefined || value === '' ? [] : [element('subfield', { code }, value)],
  );
  return elements.length === 0 ? undefined : element('datafield', { tag, ind1, ind2 }, elements);
}
