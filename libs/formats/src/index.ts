export { CITATION_STYLES, type CitationStyle, citation, isCitationStyle } from './citation/citation.ts';
export { dataciteJson } from './datacite/datacite-json.ts';
export { dataciteElement } from './datacite/datacite-xml.ts';
export {
  type Bucket,
  COLLECTION,
  type Doi,
  type Entity,
  type ErrorBody,
  type FileEntry,
  type FileListing,
  type Funding,
  type Hits,
  type Kind,
  kindOf,
  type Location,
  type Metadata,
  type Person,
} from './document/entity.ts';
export {
  doiUrl,
  inLanguage,
  instantOf,
  isRegistered,
  labelOf,
  licenceUrl,
  nameUrl,
  plainText,
  titleOf,
  urlOf,
} from './document/fields.ts';
export type { FormatContext } from './document/format-context.ts';
export { type Bounds, boundsOf, combinedGeometry, geometriesOf, pointsOf } from './document/places.ts';
export {
  descriptions,
  EXPORT_MEDIA_TYPES,
  FORMATS,
  type Format,
  findFormat,
  negotiateFormat,
} from './formats.ts';
export { dcatGraph } from './rdf/dcat.ts';
export { rdfElement } from './rdf/rdf-xml.ts';
export { schemaOrg } from './web/schema-org.ts';
export { exportUrl, signpostingHeader, signpostingLinks } from './web/signposting.ts';
export { dublinCoreElement, dublinCoreTerms } from './xml/dublin-core.ts';
export { marcElement } from './xml/marcxml.ts';
export { type Content, type Element, element, escapeXml, xmlDocument } from './xml/xml.ts';
