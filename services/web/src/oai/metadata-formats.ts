import {
  dataciteElement,
  dcatGraph,
  dublinCoreElement,
  type Element,
  type Entity,
  element,
  marcElement,
  rdfElement,
} from '@kr/formats';

export interface MetadataFormat {
  prefix: string;
  schema: string;
  namespace: string;
  write(entity: Entity, context: { baseUrl: string; repository: string }): Element;
}

const DATACITE = 'http://datacite.org/schema/kernel-4';
const DATACITE_SCHEMA = 'https://schema.datacite.org/meta/kernel-4.6/metadata.xsd';
const OAI_DATACITE = 'http://schema.datacite.org/oai/oai-1.1/';

/** By `metadataPrefix`. */
export const METADATA_FORMATS: readonly MetadataFormat[] = [
  {
    prefix: 'oai_dc',
    schema: 'http://www.openarchives.org/OAI/2.0/oai_dc.xsd',
    namespace: 'http://www.openarchives.org/OAI/2.0/oai_dc/',
    write: dublinCoreElement,
  },
  {
    prefix: 'oai_datacite',
    schema: 'http://schema.datacite.org/oai/oai-1.1/oai.xsd',
    namespace: OAI_DATACITE,
    write: (entity, context) =>
      element(
        'oai_datacite',
        { xmlns: OAI_DATACITE },
        element('schemaVersion', {}, '4.6'),
        element('datacentreSymbol', {}, context.repository),
        element('payload', {}, dataciteElement(entity, context)),
      ),
  },
  { prefix: 'datacite', schema: DATACITE_SCHEMA, namespace: DATACITE, write: dataciteElement },
  {
    prefix: 'dcat',
    schema: 'http://www.w3.org/ns/dcat.rdf',
    namespace: 'http://www.w3.org/ns/dcat#',
    write: (entity, context) => rdfElement(dcatGraph(entity, { ...context, files: [] })),
  },
  {
    prefix: 'marcxml',
    schema: 'http://www.loc.gov/standards/marcxml/schema/MARC21slim.xsd',
    namespace: 'http://www.loc.gov/MARC21/slim',
    write: marcElement,
  },
];
