import type { Entity, FileEntry, Person } from '../document/entity.ts';
import {
  accessRights,
  addressOf,
  descriptionOf,
  doiOf,
  instantOf,
  invertedName,
  isPerson,
  keywordsOf,
  licenceUrl,
  orcidUrl,
  pageOf,
  titleOf,
  typeProperty,
  urlOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { boundsOf, placesOf } from '../document/places.ts';
import type { Node, Value } from './graph.ts';

/** DCAT-AP 3.0 with PROV: a dataset, or a catalogued series for a package, with one distribution for each file. */
export function dcatGraph(entity: Entity, context: FormatContext): Node[] {
  const { baseUrl, repository, files } = context;
  const { metadata, relationship } = entity;
  const licences = (metadata.rights ?? []).flatMap((one) => licenceUrl(one) ?? []);
  const dataset: Node = {
    iri: addressOf(entity),
    types: ['dcat:Dataset', 'prov:Entity'],
    properties: [
      ['dct:title', { text: titleOf(entity), language: 'en' }],
      ['dct:description', { text: descriptionOf(entity) ?? titleOf(entity), language: 'en' }],
      ['dct:identifier', { text: addressOf(entity), datatype: 'xsd:anyURI' }],
      ['dct:identifier', doiOf(entity) === undefined ? undefined : { text: doiOf(entity) ?? '' }],
      ['dct:type', typeIri(typeProperty(entity, 'schema.org', context))],
      ['dct:issued', dateValue(metadata.publication_date)],
      ['dct:created', { text: instantOf(entity.created), datatype: 'xsd:dateTime' }],
      ['dct:modified', { text: instantOf(entity.updated), datatype: 'xsd:dateTime' }],
      ['dcat:version', metadata.version === undefined ? undefined : { text: metadata.version }],
      ['dcat:landingPage', named(pageOf(entity), 'foaf:Document')],
      ['dct:publisher', organisation(metadata.publisher ?? repository)],
      ...(metadata.creators ?? []).flatMap((one) => [
        ['dct:creator', agent(one)] as const,
        ['prov:wasAttributedTo', agent(one)] as const,
      ]),
      ...(metadata.contributors ?? []).map((one) => ['dct:contributor', agent(one)] as const),
      ['prov:generatedAtTime', { text: instantOf(entity.created), datatype: 'xsd:dateTime' }],
      ...keywordsOf(entity).map((text) => ['dcat:keyword', { text, language: 'en' }] as const),
      ...(metadata.languages ?? []).map(({ id }) => ['dct:language', language(id)] as const),
      ['dct:accessRights', named(accessRights(entity).eu, 'dct:RightsStatement')],
      ...licences.map((iri) => ['dct:license', licence(iri)] as const),
      ...placesOf(entity).map(
        ({ name, geometries }) => ['dct:spatial', location(name, boundsOf(geometries))] as const,
      ),
      ...(metadata.related_identifiers ?? []).map((one) => ['dct:relation', related(urlOf(one))] as const),
      ...(relationship?.resources ?? []).map(
        ({ id }) => ['dct:hasPart', { iri: `${baseUrl}/records/${id}` }] as const,
      ),
      ...(relationship?.packages ?? []).map(
        ({ id }) => ['dct:isPartOf', { iri: `${baseUrl}/packages/${id}` }] as const,
      ),
      ...files.map((file) => ['dcat:distribution', { iri: file.links.content }] as const),
    ],
  };
  return [dataset, ...files.map((file) => distribution(file, licences[0], pageOf(entity)))];
}

function distribution(
  { key, size, mimetype, checksum, links }: FileEntry,
  right: string | undefined,
  page: string,
): Node {
  const [algorithm = '', digest] = (checksum ?? '').split(':');
  return {
    iri: links.content,
    types: ['dcat:Distribution'],
    properties: [
      ['dct:title', { text: key }],
      ['dcat:accessURL', named(page, 'rdfs:Resource')],
      ['dcat:downloadURL', named(links.content, 'rdfs:Resource')],
      ['dcat:byteSize', { text: String(size), datatype: 'xsd:decimal' }],
      ['dcat:mediaType', mediaType(mimetype)],
      ['dct:license', right === undefined ? undefined : licence(right)],
      [
        'spdx:checksum',
        digest === undefined
          ? undefined
          : {
              types: ['spdx:Checksum'],
              properties: [
                [
                  'spdx:algorithm',
                  named(`http://spdx.org/rdf/terms#checksumAlgorithm_${algorithm}`, 'spdx:ChecksumAlgorithm'),
                ],
                ['spdx:checksumValue', { text: digest, datatype: 'xsd:hexBinary' }],
              ],
            },
      ],
    ],
  };
}

function typeIri(iri: string | undefined): Value | undefined {
  return iri === undefined
    ? undefined
    : {
        iri,
        types: ['skos:Concept'],
        properties: [['skos:prefLabel', { text: iri.slice(iri.lastIndexOf('/') + 1), language: 'en' }]],
      };
}

function mediaType(type: string | undefined): Value | undefined {
  if (type === undefined || !/^[\w.+-]+\/[\w.+-]+$/.test(type)) return undefined;
  return named(`https://www.iana.org/assignments/media-types/${type}`, 'dct:MediaType');
}

function language(id: string): Value {
  const iri = `http://publications.europa.eu/resource/authority/language/${id.toUpperCase()}`;
  return named(iri, 'dct:LinguisticSystem');
}

function licence(iri: string): Value {
  return named(iri, 'dct:LicenseDocument');
}

function related(iri: string | undefined): Value | undefined {
  return iri === undefined ? undefined : named(iri, 'rdfs:Resource');
}

/** A resource with nothing but its type. */
function named(iri: string, type: string): Node {
  return { iri, types: [type], properties: [] };
}

function organisation(name: string): Value {
  return { types: ['foaf:Agent', 'foaf:Organization'], properties: [['foaf:name', { text: name }]] };
}

function agent(person: Person): Value {
  if (!isPerson(person)) return organisation(invertedName(person));
  return {
    iri: orcidUrl(person),
    types: ['foaf:Agent', 'foaf:Person', 'prov:Agent'],
    properties: [['foaf:name', { text: invertedName(person) }]],
  };
}

function location(
  name: string | undefined,
  bounds: readonly [number, number, number, number] | undefined,
): Value {
  const [west, south, east, north] = bounds ?? [];
  const box = `POLYGON((${west} ${south}, ${east} ${south}, ${east} ${north}, ${west} ${north}, ${west} ${south}))`;
  return {
    types: ['dct:Location'],
    properties: [
      ['skos:prefLabel', name === undefined ? undefined : { text: name, language: 'en' }],
      ['dcat:bbox', bounds === undefined ? undefined : { text: box, datatype: 'geo:wktLiteral' }],
    ],
  };
}

/** EDTF dates of level 0 with their own precision; the start of an interval. */
function dateValue(edtf: string | undefined): Value | undefined {
  const [start = ''] = (edtf ?? '').split('/');
  const datatype = { 4: 'xsd:gYear', 7: 'xsd:gYearMonth', 10: 'xsd:date' }[start.length];
  return datatype === undefined ? undefined : { text: start, datatype };
}
