/** The parts of the public API's answers that formats and pages use (docs/metadata.md). */

export type Kind = 'record' | 'package';

/** The path segment of each kind, in the API and on pages. */
export const COLLECTION: Readonly<Record<Kind, string>> = { record: 'records', package: 'packages' };

export interface Identified {
  identifier: string;
  scheme?: string;
}

export interface Titled {
  id: string;
  title?: Readonly<Record<string, string>>;
}

export interface Person {
  person_or_org: {
    type?: 'personal' | 'organizational';
    name?: string;
    given_name?: string;
    family_name?: string;
    identifiers?: readonly Identified[];
  };
  role?: Titled;
  affiliations?: readonly { id?: string; name?: string }[];
}

export interface Licence {
  id?: string;
  title?: Readonly<Record<string, string>>;
  description?: Readonly<Record<string, string>>;
  link?: string;
  props?: { url?: string; scheme?: string };
}

export interface RelatedIdentifier {
  identifier: string;
  scheme?: string;
  title?: string;
  relation_type?: Titled;
  resource_type?: Titled;
}

export interface Metadata {
  title?: string;
  resource_type?: Titled;
  creators?: readonly Person[];
  contributors?: readonly Person[];
  additional_titles?: readonly { title: string; type?: Titled; lang?: Titled }[];
  description?: string;
  additional_descriptions?: readonly { description: string; type?: Titled; lang?: Titled }[];
  publisher?: string;
  publication_date?: string;
  version?: string;
  subjects?: readonly { id?: string; subject?: string; scheme?: string }[];
  languages?: readonly Titled[];
  dates?: readonly { date: string; type?: Titled; description?: string }[];
  rights?: readonly Licence[];
  identifiers?: readonly Identified[];
  related_identifiers?: readonly RelatedIdentifier[];
  locations?: { features?: readonly Location[] };
  funding?: readonly Funding[];
  references?: readonly { reference: string; identifier?: string; scheme?: string }[];
  sizes?: readonly string[];
  formats?: readonly string[];
  target_audiences?: readonly Titled[];
  engagement_priorities?: readonly Titled[];
  geo_work_programme_activity?: Titled;
}

export interface Location {
  geometry?: GeoJSON.Geometry;
  place?: string;
  description?: string;
  identifiers?: readonly Identified[];
}

export interface Funding {
  funder?: { id?: string; name?: string };
  award?: {
    id?: string;
    number?: string;
    title?: Readonly<Record<string, string>>;
    identifiers?: readonly Identified[];
  };
}

/** `provider` is `local` if the DOI is registered nowhere. */
export interface Doi {
  identifier: string;
  provider?: string;
  /** With DataCite: `pending`, `findable`, `hidden`, `unregistered` or `failed`. */
  state?: string;
}

export interface Entity {
  id: string;
  created: string;
  updated: string;
  links: Readonly<Record<string, string>>;
  revision_id: number;
  parent: {
    id: string;
    type?: string;
    /** The DOI of all versions. */
    pids?: { doi?: Doi };
    relationship?: { managed_by?: { id?: string } };
  };
  versions: { is_latest?: boolean; is_latest_draft?: boolean; index: number };
  is_published: boolean;
  is_draft: boolean;
  pids?: { doi?: Doi; oai?: { identifier: string } };
  metadata: Metadata;
  access: {
    record: 'public' | 'restricted';
    files: 'public' | 'restricted';
    embargo?: { active?: boolean; until?: string; reason?: string | null };
    status: string;
  };
  files?: { enabled?: boolean; default_preview?: string | null };
  relationship?: { resources?: readonly { id: string }[]; packages?: readonly { id: string }[] };
}

export interface FileEntry {
  key: string;
  size: number;
  checksum?: string;
  mimetype?: string;
  status: string;
  metadata?: { width?: number; height?: number } | null;
  links: { self: string; content: string };
}

export interface FileListing {
  enabled: boolean;
  entries?: readonly FileEntry[];
  default_preview?: string | null;
  order?: readonly string[];
}

export interface Bucket {
  key: string;
  doc_count: number;
  label: string;
  is_selected: boolean;
  inner?: { buckets: readonly Bucket[] };
}

export interface Hits {
  hits: { hits: readonly Entity[]; total: number };
  aggregations: Readonly<Record<string, { label: string; buckets: readonly Bucket[] }>>;
  sortBy?: string;
  links: Readonly<Record<string, string>>;
}

/** An error answer of the API (docs/errors.md). */
export interface ErrorBody {
  status: number;
  message: string;
  code?: string;
  hint?: string;
  errors?: readonly { field?: string; messages?: readonly string[] }[];
  tombstone?: Tombstone;
}

export interface Tombstone {
  removal_reason?: { id: string };
  note?: string;
  removal_date?: string;
  citation_text?: string;
}

/** `record` or `package`. */
export function kindOf(entity: Entity): Kind {
  return entity.parent.type === 'package' ? 'package' : 'record';
}
