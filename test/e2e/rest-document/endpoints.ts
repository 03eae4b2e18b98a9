import { packageDocument, recordDocument } from '../story/documents.ts';
import type { Sent } from '../story/http-client.ts';
import {
  ACCESS_LINK,
  type Collection,
  entityShape,
  FILES,
  FILES_LISTING,
  FOUND,
  SEARCH_RESULT,
  VERSIONS,
} from './shapes.ts';
import { CONTENT, FILE, type Place, type Standing } from './world.ts';

/** One row of the tables of section 4. */
export interface Row {
  section: string;
  method: string;
  path: string;
  on: Standing;
  sends: Sent | ((place: Place) => Sent);
  status: number;
  gives: AnswerName;
  /** The document offers the request in two media types. */
  inBothTypes: boolean;
}

type AnswerName = keyof typeof ANSWERS;

/** The expected shape of an answer, by the words of the tables. */
export const ANSWERS = {
  'a resource draft': { body: entityShape('records', 'draft') },
  'a published resource': { body: entityShape('records', 'published') },
  'an edit draft of a resource': { body: entityShape('records', 'edit draft') },
  'a new version of a resource': { body: entityShape('records', 'new version') },
  'a package draft': { body: entityShape('packages', 'draft') },
  'a published package': { body: entityShape('packages', 'published') },
  'an edit draft of a package': { body: entityShape('packages', 'edit draft') },
  'a new version of a package': { body: entityShape('packages', 'new version') },
  'files listing': { body: FILES_LISTING },
  'files listing with a pending entry': { body: { ...FILES_LISTING, entries: [FILES.pending] } },
  'a pending file': { body: FILES.pending },
  'a completed file': { body: FILES.completed },
  'a published file': { body: FILES.published },
  bytes: { text: CONTENT.toString() },
  'no body': { text: '' },
  'hits, sortBy, links': { body: VERSIONS },
  'search result': { body: SEARCH_RESULT },
  'aggregations, hits': { body: FOUND },
  errors: { body: { errors: [] } },
  'an access link': { body: ACCESS_LINK },
  'access links': { body: { hits: { hits: [ACCESS_LINK, ACCESS_LINK], total: 2 } } },
} as const;

const NOTHING_SENT: Sent = {};
const RECORD: Sent = { json: recordDocument('Sent') };
const PACKAGE: Sent = { json: { ...packageDocument('Sent'), pids: {}, custom_fields: {} } };
const KEYS: Sent = { json: [{ key: FILE }] };
const BYTES: Sent = { bytes: CONTENT };
const PERMISSION: Sent = { json: { permission: 'edit', expires_at: '2199-01-01T00:00:00' } };
const records = ({ resource }: Place): Sent => ({ json: { records: [{ id: resource }] } });
const resources = ({ resource }: Place): Sent => ({ json: { resources: [{ id: resource }] } });

/** Section 4, in the order of the document. */
export const ENDPOINTS: readonly Row[] = [
  ...section('4.1', [
    ['POST', '/api/records', 'nothing', RECORD, 201, 'a resource draft'],
    ['GET', '/api/records/{id}/draft', 'the draft', 'accept', 200, 'a resource draft'],
    ['PUT', '/api/records/{id}/draft', 'a draft', RECORD, 200, 'a resource draft'],
    ['POST', '/api/records/{id}/draft/actions/publish', 'a draft', '-', 202, 'a published resource'],
    ['POST', '/api/records/{id}/draft', 'a published one', '-', 201, 'an edit draft of a resource'],
    ['DELETE', '/api/records/{id}/draft', 'a draft', '-', 204, 'no body'],
  ]),
  ...draftFiles('4.2', 'records'),
  ...published('4.3', 'records'),
  ...section('4.4', [
    ['POST', '/api/packages', 'nothing', PACKAGE, 201, 'a package draft'],
    ['GET', '/api/packages/{id}/draft', 'the draft', 'accept', 200, 'a package draft'],
    ['PUT', '/api/packages/{id}/draft', 'a draft', PACKAGE, 200, 'a package draft'],
    ['POST', '/api/packages/{id}/draft/actions/publish', 'a draft', '-', 202, 'a published package'],
    ['POST', '/api/packages/{id}/draft', 'a published one', '-', 201, 'an edit draft of a package'],
    ['DELETE', '/api/packages/{id}/draft', 'a draft', '-', 204, 'no body'],
    ['POST', '/api/packages/{id}/draft/actions/resources-import', 'a later version', '-', 204, 'no body'],
  ]),
  ...section('4.5', [
    ['GET', '/api/packages/{id}/draft/resources', 'the large one', 'accept', 200, 'aggregations, hits'],
    ['POST', '/api/packages/{id}/context/actions/associate', 'a resource outside', records, 204, 'no body'],
    ['POST', '/api/packages/{id}/draft/resources', 'a resource in context', resources, 200, 'errors'],
    ['DELETE', '/api/packages/{id}/draft/resources', 'a resource inside', resources, 200, 'errors'],
    [
      'POST',
      '/api/packages/{id}/context/actions/dissociate',
      'a resource in context',
      records,
      204,
      'no body',
    ],
    [
      'GET',
      '/api/packages/context/{parent-id}/resources',
      'the large one',
      'accept',
      200,
      'aggregations, hits',
    ],
  ]),
  ...draftFiles('4.6', 'packages'),
  ...published('4.6', 'packages'),
  ...accessLinks('records'),
  ...accessLinks('packages'),
  ...section('4.9', [['GET', '/api/search', 'nothing', 'accept', 200, 'search result']]),
];

/** Method, path, prerequisite, body (`accept`: none, in either media type), status, answer. */
type Cells = readonly [
  method: string,
  path: string,
  on: Standing,
  sends: Row['sends'] | '-' | 'accept',
  status: number,
  gives: AnswerName,
];

function section(name: string, rows: readonly Cells[]): Row[] {
  return rows.map(([method, path, on, sends, status, gives]) => ({
    section: name,
    method,
    path,
    on,
    status,
    gives,
    sends: typeof sends === 'string' ? NOTHING_SENT : sends,
    inBothTypes: sends === 'accept',
  }));
}

function draftFiles(name: string, kind: Collection): Row[] {
  const files = `/api/${kind}/{id}/draft/files`;
  const file = `${files}/{filename}`;
  return section(name, [
    ['GET', files, 'the draft', '-', 200, 'files listing'],
    ['POST', files, 'a draft with files enabled', KEYS, 201, 'files listing with a pending entry'],
    ['PUT', `${file}/content`, 'a draft with a started file', BYTES, 200, 'a pending file'],
    ['POST', `${file}/commit`, 'a draft with an uploaded file', '-', 200, 'a completed file'],
    ['GET', file, 'the draft', '-', 200, 'a completed file'],
    ['GET', `${file}/content`, 'the draft', '-', 200, 'bytes'],
    ['DELETE', file, 'a draft with a file', '-', 204, 'no body'],
  ]);
}

function published(name: string, kind: Collection): Row[] {
  const all = `/api/${kind}`;
  const one = `${all}/{id}`;
  const it = kind === 'records' ? 'resource' : 'package';
  return section(name, [
    ['GET', one, 'the published', 'accept', 200, `a published ${it}`],
    ['GET', all, 'nothing', 'accept', 200, 'search result'],
    ['GET', `${one}/files`, 'the published', 'accept', 200, 'files listing'],
    ['GET', `${one}/files/{filename}`, 'the published', 'accept', 200, 'a published file'],
    ['GET', `${one}/files/{filename}/content`, 'the published', '-', 200, 'bytes'],
    ['POST', `${one}/versions`, 'a published one', '-', 201, `a new version of a ${it}`],
    ['GET', `${one}/versions`, 'the first version', '-', 200, 'hits, sortBy, links'],
    ['GET', `${one}/versions/latest`, 'the first version', 'accept', 200, `a published ${it}`],
    ['GET', `/api/user/${kind}`, 'nothing', 'accept', 200, 'search result'],
  ]);
}

function accessLinks(kind: Collection): Row[] {
  const links = `/api/${kind}/{id}/access/links`;
  return section('4.7', [
    ['POST', links, 'a draft', PERMISSION, 201, 'an access link'],
    ['GET', `${links}/{link-id}`, 'the published', 'accept', 200, 'an access link'],
    ['PATCH', `${links}/{link-id}`, 'a link', PERMISSION, 200, 'an access link'],
    ['DELETE', `${links}/{link-id}`, 'a link', '-', 204, 'no body'],
    ['GET', links, 'the published', 'accept', 200, 'access links'],
  ]);
}
