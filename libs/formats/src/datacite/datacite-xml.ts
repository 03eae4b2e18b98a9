import type { Entity } from '../document/entity.ts';
import { type Content, type Element, element, optional, xmlDocument } from '../xml/xml.ts';
import {
  type DataciteContext,
  type DataciteName,
  dataciteJson,
  type GeoLocation,
  type GeoPoint,
} from './datacite-json.ts';

const NAMESPACE = 'http://datacite.org/schema/kernel-4';
const SCHEMA = `${NAMESPACE} https://schema.datacite.org/meta/kernel-4.6/metadata.xsd`;

export function dataciteXml(entity: Entity, context: DataciteContext): string {
  return xmlDocument(dataciteElement(entity, context));
}

/** The `resource` element of DataCite's XML schema 4.6. */
export function dataciteElement(entity: Entity, context: DataciteContext): Element {
  const json = dataciteJson(entity, context);
  const { alternateIdentifiers: alternates } = json;
  const list = <Item>(
    name: string,
    items: readonly Item[] | undefined,
    write: (item: Item) => Content,
  ): Element | undefined => optional(name, {}, (items ?? []).map(write));
  return element(
    'resource',
    {
      xmlns: NAMESPACE,
      'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
      'xsi:schemaLocation': SCHEMA,
    },
    json.doi === undefined
      ? element('identifier', { identifierType: 'URL' }, json.url)
      : element('identifier', { identifierType: 'DOI' }, json.doi),
    list('creators', json.creators, (one) => element('creator', {}, nameElements('creatorName', one))),
    list('titles', json.titles, ({ title, titleType, lang }) =>
      element('title', { titleType, 'xml:lang': lang }, title),
    ),
    element('publisher', {}, json.publisher.name),
    element('publicationYear', {}, json.publicationYear),
    element(
      'resourceType',
      { resourceTypeGeneral: json.types.resourceTypeGeneral },
      json.types.resourceType || json.types.resourceTypeGeneral,
    ),
    list('subjects', json.subjects, ({ subject }) => element('subject', {}, subject)),
    list('contributors', json.contributors, (one) =>
      element('contributor', { contributorType: one.contributorType }, nameElements('contributorName', one)),
    ),
    list('dates', json.dates, ({ date, dateType, dateInformation }) =>
      element('date', { dateType, dateInformation }, date),
    ),
    optional('language', {}, json.language),
    list('alternateIdentifiers', alternates, ({ alternateIdentifier, alternateIdentifierType }) =>
      element('alternateIdentifier', { alternateIdentifierType }, alternateIdentifier),
    ),
    list('relatedIdentifiers', json.relatedIdentifiers, (one) =>
      element(
        'relatedIdentifier',
        { relatedIdentifierType: one.relatedIdentifierType, relationType: one.relationType },
        one.relatedIdentifier,
      ),
    ),
    list('sizes', json.sizes, (size) => element('size', {}, size)),
    list('formats', json.formats, (format) => element('format', {}, format)),
    optional('version', {}, json.version),
    list('rightsList', json.rightsList, (one) =>
      element(
        'rights',
        {
          rightsURI: one['rightsUri'],
          rightsIdentifier: one['rightsIdentifier'],
          rightsIdentifierScheme: one['rightsIdentifierScheme'],
          schemeURI: one['schemeUri'],
        },
        one['rights'],
      ),
    ),
    list('descriptions', json.descriptions, ({ description, descriptionType, lang }) =>
      element('description', { descriptionType, 'xml:lang': lang }, description),
    ),
    list('geoLocations', json.geoLocations, (one) => element('geoLocation', {}, geoElements(one))),
    list('fundingReferences', json.fundingReferences, (one) =>
      element(
        'fundingReference',
        {},
        element('funderName', {}, one['funderName']),
        optional(
          'funderIdentifier',
          { funderIdentifierType: one['funderIdentifierType'] },
          one['funderIdentifier'],
        ),
        optional('awardNumber', { awardURI: one['awardUri'] }, one['awardNumber']),
        optional('awardTitle', {}, one['awardTitle']),
      ),
    ),
  );
}

function nameElements(tag: string, one: DataciteName): Content {
  return [
    element(tag, { nameType: one.nameType }, one.name),
    optional('givenName', {}, one.givenName),
    optional('familyName', {}, one.familyName),
    (one.nameIdentifiers ?? []).map(({ nameIdentifier, nameIdentifierScheme, schemeUri }) =>
      element('nameIdentifier', { nameIdentifierScheme, schemeURI: schemeUri }, nameIdentifier),
    ),
    (one.affiliation ?? []).map(({ name, affiliationIdentifier, affiliationIdentifierScheme }) =>
      element('affiliation', { affiliationIdentifier, affiliationIdentifierScheme }, name),
    ),
  ];
}

function geoElements(one: GeoLocation): Content {
  const { geoLocationBox: box, geoLocationPoint: point, geoLocationPolygon: polygon } = one;
  return [
    optional('geoLocationPlace', {}, one.geoLocationPlace),
    point && element('geoLocationPoint', {}, pointElements(point)),
    box &&
      element(
        'geoLocationBox',
        {},
        element('westBoundLongitude', {}, box.westBoundLongitude),
        element('eastBoundLongitude', {}, box.eastBoundLongitude),
        element('southBoundLatitude', {}, box.southBoundLatitude),
        element('northBoundLatitude', {}, box.northBoundLatitude),
      ),
    polygon &&
      element(
        'geoLocationPolygon',
        {},
        polygon.map(({ polygonPoint }) => element('polygonPoint', {}, pointElements(polygonPoint))),
      ),
  ];
}

function pointElements({ pointLongitude, pointLatitude }: GeoPoint): Content {
  return [element('pointLongitude', {}, pointLongitude), element('pointLatitude', {}, pointLatitude)];
}
