import Negotiator from 'negotiator';
import { bibtex } from './citation/bibtex.ts';
import { type CitationStyle, citation } from './citation/citation.ts';
import { cslItem } from './citation/csl.ts';
import { ris } from './citation/ris.ts';
import { dataciteJson } from './datacite/datacite-json.ts';
import { dataciteXml } from './datacite/datacite-xml.ts';
import type { Entity } from './document/entity.ts';
import type { FormatContext } from './document/format-context.ts';
import { dcatGraph } from './rdf/dcat.ts';
import { jsonLd } from './rdf/json-ld.ts';
import { rdfXml } from './rdf/rdf-xml.ts';
import { turtle } from './rdf/turtle.ts';
import { croissant } from './web/croissant.ts';
import { DATA_PACKAGE_PROFILE, dataPackage } from './web/data-package.ts';
import { geoJsonFeature } from './web/geojson.ts';
import { schemaOrg } from './web/schema-org.ts';
import { linksetText, signpostingLinks } from './web/signposting.ts';
import { dublinCoreXml } from './xml/dublin-core.ts';
import { marcXml } from './xml/marcxml.ts';

export interface Format {
  /** The last segment of `/api/{kind}/{id}/export/{name}`. */
  name: string;
  /** Media types in `Accept` that choose it; the first is the type of the answer. */
  mediaTypes: readonly [string, ...string[]];
  /** A profile of the media type (RFC 6906) that `Accept` must name. */
  profile?: string;
  title: string;
  extension: string;
  /** Whether it describes the entity, so that landing pages link to it. */
  isDescription: boolean;
  serialize(entity: Entity, context: FormatContext, options: { style: CitationStyle }): string;
}

const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** All export formats, in the order of pages. */
export const FORMATS: readonly Format[] = [
  format('bibtex', ['application/x-bibtex'], 'BibTeX', 'bib', bibtex),
  format('ris', ['application/x-research-info-systems'], 'RIS', 'ris', ris),
  format('csl', ['application/vnd.citationstyles.csl+json'], 'CSL JSON', 'json', (entity, context) =>
    json(cslItem(entity, context)),
  ),
  format('json-ld', ['application/ld+json'], 'schema.org JSON-LD', 'jsonld', (entity, context) =>
    json(schemaOrg(entity, context)),
  ),
  format(
    'datacite-json',
    ['application/vnd.datacite.datacite+json'],
    'DataCite JSON',
    'json',
    (entity, context) => json(dataciteJson(entity, context)),
  ),
  format('datacite-xml', ['application/vnd.datacite.datacite+xml'], 'DataCite XML', 'xml', dataciteXml),
  format('dublincore', ['application/x-dc+xml'], 'Dublin Core', 'xml', dublinCoreXml),
  format('dcat-ap', ['text/turtle'], 'DCAT-AP (Turtle)', 'ttl', (entity, context) =>
    turtle(dcatGraph(entity, context)),
  ),
  format(
    'dcat-ap-xml',
    ['application/dcat+xml', 'application/rdf+xml'],
    'DCAT-AP (RDF/XML)',
    'rdf',
    (entity, context) => rdfXml(dcatGraph(entity, context)),
  ),
  {
    ...format('dcat-ap-json-ld', ['application/ld+json'], 'DCAT-AP (JSON-LD)', 'jsonld', (entity, context) =>
      json(jsonLd(dcatGraph(entity, context))),
    ),
    profile: 'http://data.europa.eu/r5r/',
  },
  format('marcxml', ['application/marcxml+xml'], 'MARCXML', 'xml', marcXml),
  format('geojson', ['application/vnd.geo+json', 'application/geo+json'], 'GeoJSON', 'geojson', (entity) =>
    json(geoJsonFeature(entity)),
  ),
  {
    ...format('croissant', ['application/ld+json'], 'Croissant', 'json', (entity, context) =>
      json(croissant(entity, context)),
    ),
    profile: 'http://mlcommons.org/croissant/1.0',
  },
  {
    ...format('datapackage', ['application/ld+json'], 'Data Package', 'json', (entity, context) =>
      json(dataPackage(entity, context)),
    ),
    profile: DATA_PACKAGE_PROFILE,
  },
  {
    ...format('citation', ['text/x-bibliography'], 'Citation', 'txt', (entity, _, { style }) =>
      citation(entity, style),
    ),
    isDescription: false,
  },
  {
    ...format('linkset-json', ['application/linkset+json'], 'Link set (JSON)', 'json', (entity, context) =>
      json({ linkset: signpostingLinks(entity, context, descriptions()) }),
    ),
    isDescription: false,
  },
  {
    ...format('linkset', ['application/linkset'], 'Link set', 'txt', (entity, context) =>
      linksetText(signpostingLinks(entity, context, descriptions())),
    ),
    isDescription: false,
  },
];

/** The formats that `describedby` links name. */
export function descriptions() {
  return FORMATS.filter(({ isDescription }) => isDescription).map(
    ({ name, mediaTypes: [mediaType], profile }) => ({ name, mediaType, profile }),
  );
}

export function findFormat(name: string): Format | undefined {
  return FORMATS.find((one) => one.name === name);
}

/** Media types of all formats, for negotiation and its error message. */
export const EXPORT_MEDIA_TYPES: readonly string[] = [
  ...new Set(FORMATS.flatMap(({ mediaTypes }) => mediaTypes)),
];

/**
 * The format that an `Accept` header prefers to the `others`; `undefined` if it prefers one of these.
 * A profile chooses among formats of one media type.
 */
export function negotiateFormat(accept: string, others: readonly string[]): Format | undefined {
  const negotiator = new Negotiator({
    headers: { accept: accept.replace(/;\s*profile\s*=\s*(?:"[^"]*"|[^;,]*)/gi, '') },
  });
  const chosen = negotiator.mediaType([...others, ...EXPORT_MEDIA_TYPES]);
  if (chosen === undefined || others.includes(chosen)) return undefined;
  const candidates = FORMATS.filter(({ mediaTypes }) => mediaTypes.includes(chosen));
  return (
    candidates.find(({ profile }) => profile !== undefined && accept.includes(profile)) ??
    candidates.find(({ profile }) => profile === undefined)
  );
}

function format(
  name: string,
  mediaTypes: readonly [string, ...string[]],
  title: string,
  extension: string,
  serialize: Format['serialize'],
): Format {
  return { name, mediaTypes, title, extension, isDescription: true, serialize };
}
