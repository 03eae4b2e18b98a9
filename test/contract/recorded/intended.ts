import { asObject, type Expect } from './compare.ts';
import type { Exchange } from './transcript.ts';

/** A difference that shows in many answers: what the recorded value is here. */
interface Rule {
  /** The topic in docs/compatibility.md. */
  topic: string;
  /** The value as it is here, or the same value when the rule is not about it. */
  here(recorded: unknown, place: { path: string; ours: unknown; exchange: Exchange }): unknown;
}

export const RULES: readonly Rule[] = [
  {
    topic: 'instants of resources and files',
    here: (recorded) => {
      const body = asObject(recorded);
      if (body === undefined || !(isResource(body) || isFile(body))) return recorded;
      return { ...body, created: plain(body['created']), updated: plain(body['updated']) };
    },
  },
  {
    topic: '`created_at` of an access link',
    here: (recorded, { path }) =>
      path.endsWith('created_at') ? String(recorded).replace('+00:00', '') : recorded,
  },
  {
    topic: '`provider` and `client` of assigned DOIs',
    here: (recorded, { path }) =>
      /pids\.doi\.(?:provider|client)$/.test(path) && recorded === 'datacite' ? 'local' : recorded,
  },
  {
    topic: '`storage_class` of a file',
    here: (recorded, { path }) => (path.endsWith('storage_class') ? 'S' : recorded),
  },
  {
    topic: '`metadata` of a committed file',
    here: (recorded) => {
      const body = asObject(recorded);
      const isBare = isFile(body) && body?.['status'] === 'completed' && body['metadata'] === null;
      return isBare ? { ...body, metadata: {} } : recorded;
    },
  },
  {
    topic: 'descriptions of licences',
    here: (recorded, { path, ours }) =>
      /rights\.\d+\.(?:description\.en|description_l10n)$/.test(path) && typeof ours === 'string'
        ? ours
        : recorded,
  },
  {
    topic: 'resource type of a record missing',
    here: (recorded) => {
      const body = asObject(recorded);
      const { resource_type: type, ...others } = asObject(body?.['metadata']) ?? {};
      const isMissing = isResource(body) && asObject(type)?.['id'] === 'knowledge';
      return isMissing ? { ...body, metadata: others } : recorded;
    },
  },
  {
    topic: '`is_published` of the draft of a published resource',
    here: (recorded) => {
      const body = asObject(recorded);
      return isResource(body) && body?.['is_draft'] === true ? { ...body, is_published: false } : recorded;
    },
  },
  {
    topic: 'dissociating, deleting a package',
    here: (recorded, { path }) =>
      path.endsWith('relationship.resources') && Array.isArray(recorded)
        ? keep(recorded, (one) => asObject(one)?.['id'] !== DISSOCIATED)
        : recorded,
  },
  {
    topic: 'associating resources',
    here: (recorded) => {
      const body = asObject(recorded);
      if (body?.['id'] !== PUBLISHED_BEFORE || !isResource(body)) return recorded;
      return { ...body, parent: { ...asObject(body['parent']), relationship: { managed_by: {} } } };
    },
  },
  {
    topic: 'associating resources',
    here: (recorded, { path, exchange }) => {
      const { hits, total } = asObject(recorded) ?? {};
      const isContext = path === 'hits' && exchange.target.startsWith('/api/packages/context/');
      if (!isContext || !Array.isArray(hits)) return recorded;
      const taken = hits.filter((hit) => asObject(hit)?.['id'] !== PUBLISHED_BEFORE);
      return { hits: taken, total: Number(total) - (hits.length - taken.length) };
    },
  },
  {
    topic: 'adding a published resource',
    here: (recorded, { exchange: { recording, number } }) => {
      const body = asObject(recorded);
      const isBefore = recording === 'packages' && number < PACKAGE_PUBLISHED_AT;
      if (!isBefore || !isResource(body) || body?.['is_draft'] === true) return recorded;
      return { ...body, relationship: { packages: [] } };
    },
  },
  {
    topic: 'links of listings',
    here: (recorded, { path, exchange }) =>
      /^links\.(?:self|prev|next)$/.test(path) && String(recorded).includes('?')
        ? listingLink(String(recorded), exchange)
        : recorded,
  },
  {
    topic: 'default page size',
    here: (recorded, { path, exchange: { target } }) =>
      /^links\.\w+$/.test(path) && !target.includes('size=') && typeof recorded === 'string'
        ? recorded.replace('size=25', 'size=10')
        : recorded,
  },
  {
    topic: 'IIIF links of packages in searches over both kinds',
    here: (recorded, { path }) => {
      const body = asObject(recorded);
      if (!path.startsWith('hits.') || asObject(body?.['parent'])?.['type'] !== 'package') return recorded;
      const links = Object.entries(asObject(body?.['links']) ?? {}).map(([name, url]) => [
        name,
        String(url).replace('/iiif/record:', '/iiif/package:'),
      ]);
      return { ...body, links: Object.fromEntries(links) };
    },
  },
  {
    topic: 'links of answers to anonymous readers',
    here: (recorded, { exchange: { headers, target } }) => {
      const body = asObject(recorded);
      const links = asObject(body?.['links']);
      const isAnonymous = headers['authorization'] === undefined && !target.includes('token=');
      if (!isAnonymous || links?.['access_links'] === undefined || body?.['is_published'] !== true)
        return recorded;
      const given = Object.entries(links).filter(([name]) => !NEED_CREDENTIALS.includes(name));
      return { ...body, links: Object.fromEntries(given) };
    },
  },
  {
    topic: 'archive of resources without files',
    here: (recorded, { ours }) => {
      const body = asObject(recorded);
      const links = asObject(body?.['links']);
      const listing = asObject(ours);
      const files = asObject(listing?.['files']) ?? listing;
      const hasFiles = files?.['enabled'] !== false;
      if (links?.['archive'] === undefined || hasFiles) return recorded;
      const { archive: _, ...others } = links;
      return { ...body, links: others };
    },
  },
];

const NEED_CREDENTIALS = [
  'draft',
  'access_links',
  'reserve_doi',
  'context_resources',
  'context_associate',
  'context_dissociate',
];

/** The resource that was dissociated after it was added: the original went on to name it. */
const DISSOCIATED = '3q05s-cn264';
/** The resource that was published before the original took it into a context. */
const PUBLISHED_BEFORE = 'jfj01-dkz02';
const PACKAGE_PUBLISHED_AT = 50;

/** All rules in turn, and which of them changed anything. */
export function expectHere(used: Set<string>): Expect {
  return (recorded, ours, path, exchange) =>
    RULES.reduce((value, { topic, here }) => {
      const changed = here(value, { path, ours, exchange });
      if (JSON.stringify(changed) !== JSON.stringify(value)) used.add(topic);
      return changed;
    }, recorded);
}

interface Difference {
  topic: string;
  /** `path: recorded → ours`, with the recorded identifiers. */
  differs: readonly string[];
}

const NO_CREDENTIALS = 'missing credentials on routes that need them';
const FAILS_THERE = 'non-object bodies, pending files, unknown schemes and similar input';
const FILE_NAMES = 'file names with `/` or `\\`';

const INTERNAL_ERROR =
  '"The server encountered an internal error and was unable to complete your request. Either the server is overloaded or there is an error in the application."';

/** A refusal names what is served here. */
const SERVED_TYPES: Difference = {
  topic: 'export formats',
  differs: [
    `message: "Invalid 'Accept' header. Expected one of: application/json, application/vnd.inveniordm.v1+json, application/vnd.citationstyles.csl+json, application/vnd.datacite.datacite+json, application/vnd.datacite.datacite+xml, application/x-dc+xml, text/x-bibliography" → "Invalid 'Accept' header. Expected one of: application/json, application/vnd.inveniordm.v1+json"`,
  ],
};

/** Single exchanges that this system answers otherwise, by recording and number. */
export const INTENDED: Readonly<Record<string, Difference>> = {
  'records/25': SERVED_TYPES,
  'records/78': {
    topic: 'export formats',
    differs: [
      'status: 406 → 200',
      `message: "Invalid 'Accept' header. Expected one of: application/json, application/vnd.inveniordm.v1+json, application/vnd.citationstyles.csl+json, application/vnd.datacite.datacite+json, application/vnd.datacite.datacite+xml, application/x-dc+xml, text/x-bibliography" → nothing`,
    ],
  },
  'records/30': {
    topic: '`If-Match` with a tag that is not a revision',
    differs: [
      'status: 400 → 412',
      `message: "A validation error occurred." → "Revision id provided(-1) doesn't match record's one(2)"`,
    ],
  },
  'packages/3': {
    topic: NO_CREDENTIALS,
    differs: ['status: 400 → 401', 'message: "CSRF cookie not set." → "Authentication required."'],
  },
  'packages/9': {
    topic: NO_CREDENTIALS,
    differs: ['status: 403 → 401', 'message: "Permission denied." → "Authentication required."'],
  },
  'packages/17': {
    topic: 'associating resources',
    differs: [
      'status: 204 → 400',
      'message: nothing → "A validation error occurred."',
      'errors: nothing → ["records.0.id: Only drafts can be associated with a package."]',
    ],
  },
  'packages/18': {
    topic: 'associating resources',
    differs: [
      'status: 204 → 403',
      'message: nothing → "Permission denied."',
      'errors: nothing → ["records.0.id: Permission denied."]',
    ],
  },
  'packages/22': {
    topic: NO_CREDENTIALS,
    differs: ['status: 400 → 401', 'message: "CSRF cookie not set." → "Authentication required."'],
  },
  'packages/35': {
    topic: NO_CREDENTIALS,
    differs: ['status: 403 → 401', 'message: "Permission denied." → "Authentication required."'],
  },
  'packages/70': {
    topic: '`versions/latest`',
    differs: ['status: 301 → 200', 'message: "Redirecting..." → nothing'],
  },
  'packages/73': {
    topic: 'publication date of a new package version',
    differs: [
      'status: 202 → 400',
      'message: nothing → "A validation error occurred."',
      'errors: nothing → ["metadata.publication_date: Missing data for required field."]',
    ],
  },
  'packages/77': {
    topic: 'dissociating, deleting a package',
    differs: [
      'parent.relationship.managed_by: {"id":"maeqx-67b06"} → nothing',
      'relationship.packages: ["z27cc-80k44"] → []',
    ],
  },
  'packages/82': {
    topic: FAILS_THERE,
    differs: ['status: 500 → 400', `message: ${INTERNAL_ERROR} → "File with key notes.txt has no content."`],
  },
  'packages/105': {
    topic: 'requests with an access link and no other credentials',
    differs: ['status: 400 → 201', 'message: "CSRF cookie not set." → nothing'],
  },
  'packages/121': {
    topic: '`bbox` with top and bottom swapped',
    differs: ['status: 500 → 200', 'message: "Internal server error" → nothing'],
  },
  'packages/125': {
    topic: '`q` that cannot be parsed',
    differs: [
      'status: 200 → 400',
      'message: nothing → "Invalid query string syntax."',
      'errors: nothing → ["q: A range needs \\" TO \\" at position 12."]',
    ],
  },
  'packages/133': {
    topic: 'page size',
    differs: [
      'status: 200 → 400',
      'message: nothing → "A validation error occurred."',
      'errors: nothing → ["size: Page size cannot be greater than 1000."]',
    ],
  },
  'packages/134': {
    topic: 'pages beyond the first 10,000 hits',
    differs: [
      'errors: nothing → [{"field":"page","messages":["Only the first 10000 hits can be reached by pages; cursor=* goes through all of them."]}]',
    ],
  },
  'packages/137': {
    topic: '`expires_at` of a published entity in a listing of the owner',
    differs: ['hits.hits.1.expires_at: "2026-11-21T06:51:52.237139+00:00" → nothing'],
  },
  'packages/138': {
    topic: NO_CREDENTIALS,
    differs: ['status: 403 → 401', 'message: "Permission denied." → "Authentication required."'],
  },
  'packages/139': {
    topic: 'links of a package on its resources',
    differs: [
      'hits.hits.1.parent.access.links: ["b769cad6-9e03-4b50-9e9c-b3b9989c9e18","bf820d79-7962-400c-9c6c-5e688f2245b9","67fe7850-06a5-454c-a262-b1fbe6017f89"] → []',
    ],
  },
  'records/178': unknownParameter('access_status'),
  'records/146': {
    topic: 'links to files that the reader may not read',
    differs: [
      'links.self_iiif_manifest: "{base_url}/api/iiif/record:6wjx5-rc876/manifest" → nothing',
      'links.self_iiif_sequence: "{base_url}/api/iiif/record:6wjx5-rc876/sequence/default" → nothing',
      'links.files: "{base_url}/api/records/6wjx5-rc876/files" → nothing',
      'links.archive: "{base_url}/api/records/6wjx5-rc876/files-archive" → nothing',
    ],
  },
  'records/182': unknownParameter('wibble'),
  'records/5': {
    topic: 'unknown vocabulary id in a draft',
    differs: [
      'status: 400 → 201',
      'message: "Invalid value xx-bad." → nothing',
      `errors: nothing → ["metadata.resource_type: Invalid value no-such-type.","metadata.creators.0.person_or_org.family_name: Family name cannot be blank.","metadata.creators.1.person_or_org: Missing data for required field.","metadata.creators.2.person_or_org.type: Invalid value. Choose one of ['organizational', 'personal'].","metadata.title: Shorter than minimum length 3.","metadata.publication_date: Please provide a valid date or interval.","metadata.languages.0: Invalid value xx-bad.","metadata.rights.0: Invalid value no-such-licence.","metadata.rights.1.link: Not a valid URL.","metadata.unknown_field: Unknown field."]`,
    ],
  },
  'records/11': {
    topic: 'embargo',
    differs: [
      'access.files: "restricted" → "public"',
      'access.embargo.active: true → false',
      'access.status: "embargoed" → "metadata-only"',
    ],
  },
  'records/13': {
    topic: 'invalid bearer token',
    differs: ['status: 400 → 401', 'message: "CSRF cookie not set." → "The access token is malformed."'],
  },
  'records/18': {
    topic: FAILS_THERE,
    differs: [
      'status: 500 → 400',
      `message: ${INTERNAL_ERROR} → "A validation error occurred."`,
      'errors: nothing → ["_schema: Invalid input type."]',
    ],
  },
  'records/37': {
    topic: FAILS_THERE,
    differs: ['status: 500 → 400', `message: ${INTERNAL_ERROR} → "File with key map.txt has no content."`],
  },
  'records/38': {
    topic: FAILS_THERE,
    differs: [
      'status: 500 → 404',
      `message: ${INTERNAL_ERROR} → "Record 'r6yym-7p680' has no file 'map.txt'."`,
    ],
  },
  'records/42': {
    topic: FAILS_THERE,
    differs: [
      'status: 500 → 400',
      `message: ${INTERNAL_ERROR} → "A validation error occurred."`,
      'errors: nothing → ["files: One or more files have not completed their transfer, please wait."]',
    ],
  },
  'records/45': {
    topic: FAILS_THERE,
    differs: [
      'status: 500 → 400',
      `message: ${INTERNAL_ERROR} → "The file upload transfer failed, please try again."`,
    ],
  },
  'records/57': {
    topic: FILE_NAMES,
    differs: [
      `message: "The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again." → "Record 'df74h-tm103' has no file '../up.txt'."`,
    ],
  },
  'records/58': {
    topic: FILE_NAMES,
    differs: ['entries.a/b.txt: "pending" → nothing', 'entries.../up.txt: "pending" → nothing'],
  },
  'records/62': { topic: '`files.order`', differs: ['files.order: [] → ["map.txt"]'] },
  'records/63': {
    topic: 'bad values in the metadata or files options of a draft',
    differs: ['files.default_preview: "map.txt" → "absent.txt"'],
  },
  'records/69': {
    topic: FAILS_THERE,
    differs: ['status: 500 → 404', `message: ${INTERNAL_ERROR} → "Not found."`],
  },
  'records/70': {
    topic: 'publishing a draft with several kinds of problems',
    differs: [
      'errors: ["metadata.creators: Missing data for required field.","metadata.title: Missing data for required field.","metadata.publication_date: Missing data for required field."] → ["metadata.resource_type: Missing data for required field.","metadata.creators: Missing data for required field.","metadata.title: Missing data for required field.","metadata.publication_date: Missing data for required field.","files.enabled: Missing uploaded files. To disable files for this record please mark it as metadata-only."]',
    ],
  },
  'records/82': {
    topic: FAILS_THERE,
    differs: [
      'status: 500 → 405',
      `message: ${INTERNAL_ERROR} → "The method is not allowed for the requested URL."`,
    ],
  },
  'records/90': { topic: '`If-None-Match`', differs: ['status: 200 → 304'] },
  'records/97': {
    topic: "files of a published entity's edit draft",
    differs: ['status: 201 → 403', 'message: nothing → "Bucket is locked for modifications."'],
  },
  'records/103': {
    topic: "`access.status` of a new version's draft",
    differs: ['access.status: "open" → "metadata-only"'],
  },
  'records/105': {
    topic: 'publishing a draft with several kinds of problems',
    differs: [
      'errors: ["metadata.publication_date: Missing data for required field."] → ["metadata.publication_date: Missing data for required field.","files.enabled: Missing uploaded files. To disable files for this record please mark it as metadata-only."]',
    ],
  },
  'records/111': {
    topic: '`versions/latest`',
    differs: ['status: 301 → 200', 'message: "Redirecting..." → nothing'],
  },
  'records/130': {
    topic: NO_CREDENTIALS,
    differs: ['status: 403 → 401', 'message: "Permission denied." → "Authentication required."'],
  },
  'records/141': {
    topic: '`permission` in a PATCH of an access link',
    differs: [
      'status: 200 → 400',
      'message: nothing → "A validation error occurred."',
      'errors: nothing → ["permission: An access permission level is required"]',
    ],
  },
  'records/153': {
    topic: 'accents in searched words',
    differs: ['hits.hits: [] → ["sgzar-1r018"]', 'hits.total: 0 → 1'],
  },
  'records/159': {
    topic: 'page size',
    differs: [
      'status: 200 → 400',
      'message: nothing → "A validation error occurred."',
      'errors: nothing → ["size: Page size cannot be greater than 1000."]',
    ],
  },
  'records/166': {
    topic: 'pages beyond the first 10,000 hits',
    differs: [
      'errors: nothing → [{"field":"page","messages":["Only the first 10000 hits can be reached by pages; cursor=* goes through all of them."]}]',
    ],
  },
};

/** Exchanges of features that are still to come, and the feature. */
export const NOT_YET: Readonly<Record<string, string>> = {
  'packages/143': 'assistance requests',
  'packages/146': 'IIIF',
  'records/77': 'export formats',
  'records/158': 'regular expressions in `q`',
  'records/197': 'IIIF',
};

function isResource(body: Record<string, unknown> | undefined): boolean {
  return asObject(body?.['parent'])?.['type'] === 'resource';
}

function isFile(body: Record<string, unknown> | undefined): boolean {
  return typeof body?.['key'] === 'string' && 'status' in body;
}

function plain(instant: unknown): string {
  return String(instant).replace('T', ' ').replace('+00:00', '');
}

// The same array when nothing is left out, so that a rule without effect shows none.
function keep<Item>(items: readonly Item[], isKept: (item: Item) => boolean): readonly Item[] {
  return items.every(isKept) ? items : items.filter(isKept);
}

/** `filters` is a slip of the original, which also forgets the box, and lists packages under the path of records. */
function listingLink(url: string, { target }: Exchange): string {
  const [address = '', query = ''] = url.split('?');
  const [path = ''] = target.split('?');
  const parameters = query.split('&').filter((parameter) => !parameter.startsWith('filters='));
  const box = new URLSearchParams(target.split('?')[1]).get('bbox');
  if (box !== null) parameters.push(`bbox=${encodeURIComponent(box)}`);
  return `${address.replace(/\/api\/.*/, path)}?${parameters.sort().join('&')}`;
}

function unknownParameter(name: string) {
  return {
    topic: 'query parameters that a listing does not know (`access_status` on `/api/records`)',
    differs: [
      'status: 200 → 400',
      'message: nothing → "A validation error occurred."',
      `errors: nothing → ["${name}: Unknown query parameter. This listing takes q, bbox, sort, size, page, cursor, allversions, category, record_type, resource_type, geo_work_programme_activity, target_audience, engagement_priority, subject."]`,
    ],
  };
}
