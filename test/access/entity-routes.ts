import type { EntityAction } from '@kr/access-policy';
import type { Sent } from '../e2e/story/http-client.ts';
import { documentOf, KEYS, newWord, type Place, UPLOAD_LENGTH } from './places.ts';
import type { Collection, Stage } from './states.ts';

/** Effect of a route on the entity: none, a change within its stage, or the end of its draft. */
type Effect = 'reads' | 'changes' | 'ends';

/** A route below one entity, and its answer to a permitted caller. */
export interface EntityRoute {
  effect: Effect;
  /**
   * Permitted callers. `nobody` is for a route that refuses all, `everybody` for one that reveals nothing of
   * the entity.
   */
  action: EntityAction | 'nobody' | 'everybody';
  /** Where it acts on a second entity as well: who may do that. The one that is acted on is the owner's alone. */
  alsoOnLoose?: EntityAction;
  /** The form that it is about; without it, all callers get only that answer. */
  form: 'published' | 'draft' | 'either';
  /** The words for that. */
  absent?: string;
  /** Whether it can be used without credentials at all. */
  isOpen?: true;
  /** Whether HEAD is tried as well as GET. */
  hasHead?: true;
  /** The file for `{key}`. */
  key?: string;
  sends?: (place: Place) => Sent;
  /** As `describe` of answers.ts words it, by stage where it depends on that. */
  answers: string | Partial<Record<Stage, string>>;
  /** The answer, for states that may be read. */
  shows?: 'entity' | 'versions' | 'upload';
  /** Whether who has done it is answered the same again. */
  isRepeatable?: true;
  /** In the documents of these alone. */
  only?: Collection;
}

const NOT_REGISTERED = 'The persistent identifier is not registered.';
const NO_REVIEW = '404 Review for draft not found';
const PUBLISHED_FILES = '403 Bucket is locked for modifications.';
const TUS = { 'tus-resumable': '1.0.0' };
const CHUNK = { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };

/** Routes that change files apply to the published form while that is edited. */
const unlessPublished = (answer: string): EntityRoute['answers'] => ({
  draft: answer,
  version: answer,
  edited: PUBLISHED_FILES,
});

const published = { effect: 'reads', form: 'published', isOpen: true } as const;
const publishedFiles = { ...published, action: 'read_files', answers: '200' } as const;
const readsDraft = { effect: 'reads', form: 'draft', action: 'read_draft', answers: '200' } as const;
const draftFiles = { ...readsDraft, action: 'read_draft_files' } as const;
const writesFiles = { effect: 'changes', form: 'draft', action: 'write_files' } as const;
const capabilities = { effect: 'reads', action: 'everybody', form: 'draft', answers: '204' } as const;
const links = { action: 'manage_links', form: 'either' } as const;
const context = { action: 'manage_context', form: 'either', effect: 'changes', only: 'packages' } as const;
const resources = { action: 'manage_resources', form: 'draft', effect: 'changes', only: 'packages' } as const;

/**
 * Every route below one entity by method and path, in an order in which a permitted caller can run all; `RANGE` is
 * a GET of a part.
 */
export const ENTITY_ROUTES: Readonly<Record<string, EntityRoute>> = {
  'GET ': {
    ...published,
    hasHead: true,
    action: 'read',
    absent: NOT_REGISTERED,
    answers: '200',
    shows: 'entity',
  },
  'DELETE ': {
    effect: 'reads',
    action: 'remove',
    form: 'published',
    absent: NOT_REGISTERED,
    sends: () => ({ json: { removal_reason: { id: 'none' } } }),
    answers: '400 A validation error occurred.: removal_reason.id',
  },
  'POST /restore': {
    effect: 'reads',
    action: 'remove',
    form: 'published',
    absent: NOT_REGISTERED,
    answers: '404 The record is not deleted.',
  },
  'GET /versions': { ...published, action: 'read', form: 'either', answers: '200', shows: 'versions' },
  'GET /requests': {
    ...published,
    action: 'read',
    absent: NOT_REGISTERED,
    answers: '200',
    only: 'packages',
  },
  'GET /versions/latest': {
    ...published,
    action: 'read',
    absent: NOT_REGISTERED,
    answers: '200',
    shows: 'entity',
  },
  'GET /export/{format}': { ...published, action: 'read', absent: NOT_REGISTERED, answers: '200' },
  'GET /files': publishedFiles,
  'GET /files/{key}': publishedFiles,
  'GET /files/{key}/content': { ...publishedFiles, hasHead: true },
  'RANGE /files/{key}/content': { ...publishedFiles, answers: '206' },
  'GET /files-archive': { ...publishedFiles, hasHead: true },

  'GET /draft': { ...readsDraft, hasHead: true, shows: 'entity' },
  'GET /draft/review': { ...readsDraft, answers: NO_REVIEW },
  'POST /draft/actions/validate': readsDraft,
  'GET /draft/files': draftFiles,
  'GET /draft/files/{key}': draftFiles,
  'GET /draft/files/{key}/content': { ...draftFiles, hasHead: true },
  'RANGE /draft/files/{key}/content': { ...draftFiles, answers: '206' },
  'GET /draft/files-archive': draftFiles,

  'OPTIONS /draft/files/{key}/tus': capabilities,
  'OPTIONS /draft/files/{key}/tus/{uploadId}': capabilities,

  'GET /audit-log': { action: 'read_audit_log', form: 'either', effect: 'reads', answers: '200' },

  'GET /access/links': { ...links, effect: 'reads', answers: '200' },
  'GET /access/links/{linkId}': { ...links, effect: 'reads', answers: '200' },
  'POST /access/links': {
    ...links,
    effect: 'changes',
    sends: () => ({ json: { permission: 'view' } }),
    answers: '201',
  },
  'PATCH /access/links/{linkId}': {
    ...links,
    effect: 'changes',
    sends: () => ({ json: { permission: 'preview' } }),
    answers: '200',
  },
  'DELETE /access/links/{linkId}': { ...links, effect: 'changes', answers: '204' },

  'PUT /context': {
    ...context,
    sends: () => ({ json: { access: { record_policy: 'closed' } } }),
    answers: '204',
  },
  'POST /context/actions/associate': {
    ...context,
    alsoOnLoose: 'associate',
    sends: ({ looseId }) => ({ json: { records: [{ id: looseId }] } }),
    answers: '204',
  },
  'POST /draft/resources': {
    ...resources,
    sends: ({ relatedId }) => ({ json: { resources: [{ id: relatedId }] } }),
    answers: '200',
  },
  'DELETE /draft/resources': {
    ...resources,
    sends: ({ relatedId }) => ({ json: { resources: [{ id: relatedId }] } }),
    answers: '200',
  },
  'POST /draft/actions/resources-import': {
    ...resources,
    answers: { draft: '404 Not found.', edited: '404 Not found.', version: '204' },
  },
  'POST /context/actions/dissociate': {
    ...context,
    sends: ({ partId }) => ({ json: { records: [{ id: partId }] } }),
    answers: '204',
  },

  'PUT /draft': {
    effect: 'changes',
    action: 'update_draft',
    form: 'draft',
    sends: ({ collection, state }) => ({ json: documentOf(collection, newWord(), state.draft) }),
    answers: '200',
    shows: 'entity',
  },
  'POST /draft/pids/{scheme}': {
    effect: 'changes',
    action: 'manage_pids',
    form: 'draft',
    answers: '201',
    shows: 'entity',
  },
  'DELETE /draft/pids/{scheme}': {
    effect: 'changes',
    action: 'manage_pids',
    form: 'draft',
    answers: '200',
    shows: 'entity',
  },
  'POST /draft/files': {
    ...writesFiles,
    sends: () => ({ json: [{ key: KEYS.started }, { key: KEYS.uploaded }] }),
    answers: unlessPublished('201'),
  },
  'PUT /draft/files/{key}/content': {
    ...writesFiles,
    key: KEYS.started,
    sends: () => ({ bytes: Buffer.from('new') }),
    answers: unlessPublished('200'),
  },
  'POST /draft/files/{key}/commit': { ...writesFiles, key: KEYS.started, answers: unlessPublished('200') },
  'PUT /draft/files/{key}': {
    ...writesFiles,
    key: KEYS.started,
    sends: () => ({ json: { caption: 'New' } }),
    answers: unlessPublished('200'),
  },
  'POST /draft/files/{key}/tus': {
    ...writesFiles,
    key: KEYS.uploaded,
    sends: () => ({ headers: { ...TUS, 'upload-length': String(UPLOAD_LENGTH) } }),
    answers: unlessPublished('201'),
    shows: 'upload',
  },
  'HEAD /draft/files/{key}/tus/{uploadId}': {
    ...writesFiles,
    key: KEYS.uploaded,
    sends: () => ({ headers: TUS }),
    answers: unlessPublished('200'),
  },
  'PATCH /draft/files/{key}/tus/{uploadId}': {
    ...writesFiles,
    key: KEYS.uploaded,
    sends: () => ({ bytes: Buffer.from('x'), headers: CHUNK }),
    answers: unlessPublished('204'),
  },
  'DELETE /draft/files/{key}/tus/{uploadId}': {
    ...writesFiles,
    key: KEYS.uploaded,
    sends: () => ({ headers: TUS }),
    answers: unlessPublished('204'),
  },
  'DELETE /draft/files/{key}': { ...writesFiles, key: KEYS.uploaded, answers: unlessPublished('204') },

  'POST /versions': {
    effect: 'changes',
    action: 'new_version',
    form: 'published',
    absent: NOT_REGISTERED,
    answers: '201',
    shows: 'entity',
  },
  'POST /draft': { effect: 'changes', action: 'edit', form: 'either', answers: '201', shows: 'entity' },
  'POST /draft/actions/publish': {
    effect: 'ends',
    action: 'publish',
    form: 'draft',
    answers: '202',
    shows: 'entity',
    isRepeatable: true,
  },
  'DELETE /draft/files': { ...writesFiles, answers: unlessPublished('204') },
  'POST /draft/actions/files-import': {
    effect: 'changes',
    action: 'import_files',
    form: 'draft',
    answers: { draft: '404 Not found.', edited: '404 Not found.', version: '201' },
  },
  'DELETE /draft': { effect: 'ends', action: 'delete_draft', form: 'draft', answers: '204' },
};

/** The method that a route is used by, and the path below the entity as the document has it. */
export function partsOf(route: string): { method: string; path: string; documented: string } {
  const [way = '', path = ''] = route.split(' ');
  const method = way === 'RANGE' ? 'GET' : way;
  return { method, path, documented: `${method} ${path}` };
}
