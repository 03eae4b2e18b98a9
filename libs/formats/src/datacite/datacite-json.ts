import type { Entity, Funding, Person, RelatedIdentifier } from '../document/entity.ts';
import {
  accessRights,
  compact,
  descriptionOf,
  doiOf,
  inLanguage,
  invertedName,
  isPerson,
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
  yearOf,
} from '../document/fields.ts';
import type { FormatContext } from '../document/format-context.ts';
import { boundsOf, type Place, placesOf } from '../document/places.ts';

export type DataciteContext = Pick<FormatContext, 'baseUrl' | 'vocabularies'>;

/**
 * DataCite metadata 4.6 as JSON, the `attributes` of its REST API.
 * @see https://datacite-metadata-schema.readthedocs.io/en/4.6/
 */
export function dataciteJson(entity: Entity, context: DataciteContext): DataciteDocument {
  const { metadata } = entity;
  const doi = doiOf(entity);
  return compact({
    ...(doi === undefined ? {} : { doi, prefix: doi.split('/')[0], suffix: doi.slice(doi.indexOf('/') + 1) }),
    alternateIdentifiers: [
      ...(entity.pids?.oai === undefined
        ? []
        : [{ alternateIdentifier: entity.pids.oai.identifier, alternateIdentifierType: 'oai' }]),
      { alternateIdentifier: pageOf(entity), alternateIdentifierType: 'URL' },
    ],
    creators: metadata.creators?.map(dataciteName) ?? [],
    titles: [
      { title: titleOf(entity) },
      ...(metadata.additional_titles ?? []).map(({ title, type, lang }) =>
        compact({
          title: oneLine(title),
          titleType: TITLE_TYPES[type?.id ?? ''] ?? 'Other',
          lang: lang?.id,
        }),
      ),
    ],
    publisher: { name: metadata.publisher ?? '(:unav)' },
    publicationYear: yearOf(entity) ?? entity.created.slice(0, 4),
    types: {
      resourceTypeGeneral: typeProperty(entity, 'datacite_general', context) ?? 'Other',
      resourceType: typeProperty(entity, 'datacite_type', context) ?? labelOf(metadata.resource_type) ?? '',
    },
    subjects: keywordsOf(entity).map((subject) => ({ subject })),
    contributors: metadata.contributors?.map((person) => ({
      ...dataciteName(person),
      contributorType: CONTRIBUTOR_TYPES[person.role?.id ?? ''] ?? 'Other',
    })),
    dates: [
      ...(metadata.publication_date ? [{ date: metadata.publication_date, dateType: 'Issued' }] : []),
      ...(metadata.dates ?? []).map(({ date, type, description }) =>
        compact({
          date,
          dateType: DATE_TYPES[type?.id ?? ''] ?? 'Other',
          dateInformation: description && oneLine(description),
        }),
      ),
    ],
    language: metadata.languages?.[0]?.id,
    relatedIdentifiers: [
      ...related(metadata.related_identifiers ?? []),
      ...membership(entity, context.baseUrl),
    ],
    sizes: metadata.sizes,
    formats: metadata.formats,
    version: metadata.version,
    rightsList: [
      ...(metadata.rights ?? []).map((right) =>
        compact({
          rights: licenceName(right),
          rightsUri: licenceUrl(right),
          ...(right.props?.scheme === 'spdx'
            ? {
                rightsIdentifier: right.id,
                rightsIdentifierScheme: 'SPDX',
                schemeUri: 'https://spdx.org/licenses/',
              }
            : {}),
        }),
      ),
      { rights: accessLabel(entity), rightsUri: accessRights(entity).eurepo },
    ],
    descriptions: [
      ...(descriptionOf(entity) === undefined
        ? []
        : [{ description: descriptionOf(entity) ?? '', descriptionType: 'Abstract' }]),
      ...(metadata.additional_descriptions ?? []).map(({ description, type, lang }) =>
        compact({
          description: plainText(description),
          descriptionType: DESCRIPTION_TYPES[type?.id ?? ''] ?? 'Other',
          lang: lang?.id,
        }),
      ),
    ],
    geoLocations: placesOf(entity)
      .map(geoLocation)
      .filter((place) => Object.keys(place).length > 0),
    fundingReferences: metadata.funding
      ?.map(fundingReference)
      .filter(({ funderName }) => funderName !== undefined),
    url: pageOf(entity),
    schemaVersion: 'http://datacite.org/schema/kernel-4',
  }) as DataciteDocument;
}

/** The members that the XML form needs too. */
export interface DataciteDocument {
  doi?: string;
  alternateIdentifiers: readonly { alternateIdentifier: string; alternateIdentifierType: string }[];
  creators: readonly DataciteName[];
  titles: readonly { title: string; titleType?: string; lang?: string }[];
  publisher: { name: string };
  publicationYear: string;
  types: { resourceTypeGeneral: string; resourceType: string };
  subjects?: readonly { subject: string }[];
  contributors?: readonly (DataciteName & { contributorType: string })[];
  dates?: readonly { date: string; dateType: string; dateInformation?: string }[];
  language?: string;
  relatedIdentifiers?: readonly DataciteRelation[];
  sizes?: readonly string[];
  formats?: readonly string[];
  version?: string;
  rightsList?: readonly Readonly<Record<string, string>>[];
  descriptions?: readonly { description: string; descriptionType: string; lang?: string }[];
  geoLocations?: readonly GeoLocation[];
  fundingReferences?: readonly Readonly<Record<string, string>>[];
  url: string;
  schemaVersion: string;
}

export interface DataciteName {
  name: string;
  nameType: 'Personal' | 'Organizational';
  givenName?: string;
  familyName?: string;
  nameIdentifiers?: readonly { nameIdentifier: string; nameIdentifierScheme: string; schemeUri?: string }[];
  affiliation?: readonly {
    name: string;
    affiliationIdentifier?: string;
    affiliationIdentifierScheme?: string;
  }[];
}

export interface DataciteRelation {
  relatedIdentifier: string;
  relatedIdentifierType: string;
  relationType: string;
  resourceTypeGeneral?: string;
}

export interface GeoPoint {
  pointLongitude: number;
  pointLatitude: number;
}

export interface GeoLocation {
  geoLocationPlace?: string;
  geoLocationPoint?: GeoPoint;
  geoLocationBox?: {
    westBoundLongitude: number;
    eastBoundLongitude: number;
    southBoundLatitude: number;
    northBoundLatitude: number;
  };
  geoLocationPolygon?: readonly { polygonPoint: GeoPoint }[];
}

const NAME_SCHEMES: Readonly<Record<string, readonly [scheme: string, uri: string]>> = {
  orcid: ['ORCID', 'https://orcid.org'],
  isni: ['ISNI', 'https://isni.org'],
  gnd: ['GND', 'https://d-nb.info/gnd'],
  ror: ['ROR', 'https://ror.org'],
};

function dataciteName(person: Person): DataciteName {
  const { given_name, family_name, identifiers = [] } = person.person_or_org;
  const isPersonal = isPerson(person);
  return compact({
    name: invertedName(person),
    nameType: isPersonal ? 'Personal' : 'Organizational',
    givenName: isPersonal ? given_name : undefined,
    familyName: isPersonal ? family_name : undefined,
    nameIdentifiers: identifiers.flatMap((one) => {
      const [nameIdentifierScheme, schemeUri] = NAME_SCHEMES[one.scheme ?? ''] ?? [];
      if (nameIdentifierScheme === undefined || schemeUri === undefined) return [];
      return [{ nameIdentifier: urlOf(one) ?? one.identifier, nameIdentifierScheme, schemeUri }];
    }),
    affiliation: (person.affiliations ?? []).flatMap(({ id, name }) =>
      name === undefined
        ? []
        : [
            id !== undefined && /^0[a-z0-9]{8}$/.test(id)
              ? { name, affiliationIdentifier: `https://ror.org/${id}`, affiliationIdentifierScheme: 'ROR' }
              : { name },
          ],
    ),
  }) as DataciteName;
}

const TITLE_TYPES: Readonly<Record<string, string>> = {
  'alternative-title': 'AlternativeTitle',
  subtitle: 'Subtitle',
  'translated-title': 'TranslatedTitle',
};
const DESCRIPTION_TYPES: Readonly<Record<string, string>> = {
  abstract: 'Abstract',
  methods: 'Methods',
  'series-information': 'SeriesInformation',
  'table-of-contents': 'TableOfContents',
  'technical-info': 'TechnicalInfo',
};
const DATE_TYPES: Readonly<Record<string, string>> = {
  accepted: 'Accepted',
  available: 'Available',
  collected: 'Collected',
  copyrighted: 'Copyrighted',
  coverage: 'Coverage',
  created: 'Created',
  issued: 'Issued',
  submitted: 'Submitted',
  updated: 'Updated',
  valid: 'Valid',
  withdrawn: 'Withdrawn',
};
const CONTRIBUTOR_TYPES: Readonly<Record<string, string>> = {
  contactperson: 'ContactPerson',
  datacollector: 'DataCollector',
  datacurator: 'DataCurator',
  datamanager: 'DataManager',
  distributor: 'Distributor',
  editor: 'Editor',
  hostinginstitution: 'HostingInstitution',
  producer: 'Producer',
  projectleader: 'ProjectLeader',
  projectmanager: 'ProjectManager',
  projectmember: 'ProjectMember',
  registrationagency: 'RegistrationAgency',
  registrationauthority: 'RegistrationAuthority',
  relatedperson: 'RelatedPerson',
  researcher: 'Researcher',
  researchgroup: 'ResearchGroup',
  rightsholder: 'RightsHolder',
  sponsor: 'Sponsor',
  supervisor: 'Supervisor',
  workpackageleader: 'WorkPackageLeader',
};
const IDENTIFIER_TYPES: Readonly<Record<string, string>> = {
  ads: 'bibcode',
  ark: 'ARK',
  arxiv: 'arXiv',
  bibcode: 'bibcode',
  doi: 'DOI',
  ean13: 'EAN13',
  eissn: 'EISSN',
  handle: 'Handle',
  igsn: 'IGSN',
  isbn: 'ISBN',
  issn: 'ISSN',
  istc: 'ISTC',
  lissn: 'LISSN',
  lsid: 'LSID',
  pmid: 'PMID',
  purl: 'PURL',
  upc: 'UPC',
  url: 'URL',
  urn: 'URN',
  w3id: 'w3id',
};
const RELATIONS =
  'IsCitedBy Cites IsSupplementTo IsSupplementedBy IsContinuedBy Continues IsDescribedBy Describes HasMetadata IsMetadataFor HasVersion IsVersionOf IsNewVersionOf IsPreviousVersionOf IsPartOf HasPart IsPublishedIn IsReferencedBy References IsDocumentedBy Documents IsCompiledBy Compiles IsVariantFormOf IsOriginalFormOf IsIdenticalTo IsReviewedBy Reviews IsDerivedFrom IsSourceOf IsRequiredBy Requires IsObsoletedBy Obsoletes';
const RELATION_TYPES = new Map(RELATIONS.split(' ').map((name) => [name.toLowerCase(), name]));

function related(identifiers: readonly RelatedIdentifier[]): DataciteRelation[] {
  return identifiers.flatMap(({ identifier, scheme, relation_type }) => {
    const relatedIdentifierType = IDENTIFIER_TYPES[scheme ?? ''];
    const relationType = RELATION_TYPES.get(relation_type?.id ?? '');
    if (relatedIdentifierType === undefined || relationType === undefined) return [];
    return [{ relatedIdentifier: identifier, relatedIdentifierType, relationType }];
  });
}

/** A package has its resources as parts, and a resource is part of its packages. */
function membership({ relationship }: Entity, baseUrl: string): DataciteRelation[] {
  const link = (path: string, relationType: string): DataciteRelation => ({
    relatedIdentifier: `${baseUrl}${path}`,
    relatedIdentifierType: 'URL',
    relationType,
  });
  return [
    ...(relationship?.resources ?? []).map(({ id }) => link(`/records/${id}`, 'HasPart')),
    ...(relationship?.packages ?? []).map(({ id }) => link(`/packages/${id}`, 'IsPartOf')),
  ];
}

function geoLocation({ name, geometries }: Place): GeoLocation {
  const [only] = geometries;
  const bounds = boundsOf(geometries);
  const place = name === undefined ? {} : { geoLocationPlace: oneLine(name) };
  if (bounds === undefined || only === undefined) return place;
  if (geometries.length === 1 && only.type === 'Point') {
    const [pointLongitude = 0, pointLatitude = 0] = only.coordinates;
    return { ...place, geoLocationPoint: { pointLongitude, pointLatitude } };
  }
  const [westBoundLongitude, southBoundLatitude, eastBoundLongitude, northBoundLatitude] = bounds;
  const box = {
    geoLocationBox: { westBoundLongitude, eastBoundLongitude, southBoundLatitude, northBoundLatitude },
  };
  const ring = geometries.length === 1 && only.type === 'Polygon' ? (only.coordinates[0] ?? []) : [];
  if (ring.length < 4) return { ...place, ...box };
  const geoLocationPolygon = ring.map(([pointLongitude = 0, pointLatitude = 0]) => ({
    polygonPoint: { pointLongitude, pointLatitude },
  }));
  return { ...place, ...box, geoLocationPolygon };
}

function fundingReference({ funder, award }: Funding): Partial<Record<string, string>> {
  return compact({
    funderName: funder?.name ?? funder?.id,
    ...(funder?.id !== undefined && /^0[a-z0-9]{8}$/.test(funder.id)
      ? { funderIdentifier: `https://ror.org/${funder.id}`, funderIdentifierType: 'ROR' }
      : {}),
    awardNumber: award?.number,
    awardTitle: inLanguage(award?.title),
    awardUri: award?.identifiers?.map(urlOf).find((url) => url !== undefined),
  });
}

function accessLabel({ access }: Entity): string {
  if (access.status === 'open') return 'Open Access';
  return access.status === 'embargoed' ? 'Embargoed Access' : 'Restricted Access';
}
