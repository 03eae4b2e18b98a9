import { type Entity, type FileEntry, kindOf, type Person } from '../document/entity.ts';
import {
  accessRights,
  addressOf,
  compact,
  descriptionOf,
  doiOf,
  doiUrl,
  inLanguage,
  instantOf,
  invertedName,
  isPerson,
  keywordsOf,
  licenceName,
  licenceUrl,
  orcidUrl,
  pageOf,
  titleOf,
  typeProperty,
  urlOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { boundsOf, placesOf } from '../document/places.ts';

const MIN_DESCRIPTION_LENGTH = 50;
const MAX_DESCRIPTION_LENGTH = 5_000;

/** schema.org JSON-LD as Google Dataset Search and F-UJI read it. */
export function schemaOrg(entity: Entity, context: FormatContext): Record<string, unknown> {
  const { baseUrl, repository, files } = context;
  const { metadata, relationship } = entity;
  const doi = doiOf(entity);
  const isPackage = kindOf(entity) === 'package';
  const rights = accessRights(entity);
  return {
    '@context': 'https://schema.org',
    ...compact({
      '@type': typesOf(entity, context),
      '@id': addressOf(entity),
      identifier: [
        ...(doi === undefined
          ? []
          : [{ '@type': 'PropertyValue', propertyID: 'DOI', value: doi, url: doiUrl(doi) }]),
        { '@type': 'PropertyValue', propertyID: 'URL', value: pageOf(entity), url: pageOf(entity) },
      ],
      url: pageOf(entity),
      name: titleOf(entity),
      description: describe(entity),
      creator: (metadata.creators ?? []).map(agent),
      contributor: (metadata.contributors ?? []).map(agent),
      publisher: { '@type': 'Organization', name: metadata.publisher ?? repository },
      datePublished: metadata.publication_date,
      dateCreated: instantOf(entity.created),
      dateModified: instantOf(entity.updated),
      version: metadata.version ?? String(entity.versions.index),
      inLanguage: (metadata.languages ?? []).map(({ id }) => id),
      keywords: keywordsOf(entity),
      license: (metadata.rights ?? []).map((one) => licenceUrl(one) ?? licenceName(one)),
      conditionsOfAccess: rights.eu,
      isAccessibleForFree: rights.isOpen,
      spatialCoverage: placesOf(entity).map(({ name, geometries }) => {
        const bounds = boundsOf(geometries);
        return compact({
          '@type': 'Place',
          name,
          geo: bounds && shape(bounds),
        });
      }),
      temporalCoverage: temporalCoverage(entity),
      citation: (metadata.related_identifiers ?? []).flatMap((one) => {
        const url = urlOf(one);
        return url === undefined
          ? []
          : [{ '@type': 'CreativeWork', '@id': url, ...(one.title ? { name: one.title } : {}) }];
      }),
      funding: (metadata.funding ?? []).map(({ funder, award }) =>
        compact({
          '@type': 'Grant',
          identifier: award?.number,
          name: inLanguage(award?.title),
          funder: { '@type': 'Organization', name: funder?.name ?? funder?.id },
        }),
      ),
      hasPart: (relationship?.resources ?? []).map(({ id }) => ({
        '@type': 'CreativeWork',
        '@id': `${baseUrl}/records/${id}`,
        url: `${baseUrl}/records/${id}`,
      })),
      isPartOf: (relationship?.packages ?? []).map(({ id }) => ({
        '@type': 'Collection',
        '@id': `${baseUrl}/packages/${id}`,
        url: `${baseUrl}/packages/${id}`,
      })),
      distribution: files.map(download),
      includedInDataCatalog: { '@type': 'DataCatalog', name: repository, url: baseUrl },
      mainEntityOfPage: isPackage ? undefined : pageOf(entity),
    }),
  };
}

/** The type of schema.org for a `Link` header (FAIR Signposting). */
export function schemaType(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): string {
  return kindOf(entity) === 'package'
    ? 'https://schema.org/Collection'
    : (typeProperty(entity, 'schema.org', context) ?? 'https://schema.org/CreativeWork');
}

function typesOf(entity: Entity, context: Pick<FormatContext, 'vocabularies'>): string | string[] {
  if (kindOf(entity) === 'package') return ['Collection', 'Dataset'];
  return schemaType(entity, context).replace(/^https?:\/\/schema\.org\//, '');
}

/** Google requires 50 to 5,000 characters. */
function describe(entity: Entity): string {
  const own = descriptionOf(entity) ?? titleOf(entity);
  const filled =
    own.length >= MIN_DESCRIPTION_LENGTH ? own : `${own} (${titleOf(entity)}, ${pageOf(entity)})`;
  return filled.slice(0, MAX_DESCRIPTION_LENGTH);
}

function agent(person: Person): Record<string, unknown> {
  const { given_name, family_name, name } = person.person_or_org;
  const affiliation = (person.affiliations ?? []).map((one) => ({
    '@type': 'Organization',
    name: one.name ?? one.id,
  }));
  if (!isPerson(person)) return { '@type': 'Organization', name: name ?? '' };
  return compact({
    '@type': 'Person',
    '@id': orcidUrl(person),
    name: invertedName(person),
    givenName: given_name,
    familyName: family_name,
    affiliation,
  });
}

function shape([west, south, east, north]: readonly [number, number, number, number]): Record<
  string,
  unknown
> {
  if (west === east && south === north)
    return { '@type': 'GeoCoordinates', latitude: south, longitude: west };
  return { '@type': 'GeoShape', box: `${south} ${west} ${north} ${east}` };
}

function temporalCoverage({ metadata }: Entity): string | undefined {
  return metadata.dates?.find(({ type }) => ['collected', 'coverage', 'valid'].includes(type?.id ?? ''))
    ?.date;
}

function download({ key, size, mimetype, checksum, links }: FileEntry): Record<string, unknown> {
  const [algorithm, digest] = (checksum ?? '').split(':');
  return compact({
    '@type': 'DataDownload',
    name: key,
    contentUrl: links.content,
    encodingFormat: mimetype ?? 'application/octet-stream',
    contentSize: `${size} B`,
    ...(algorithm === 'sha256' ? { sha256: digest } : {}),
  });
}
