/**
 * The history of an entity: `edited` is published with a draft beside it, `version` the draft of a next
 * version.
 */
export type Stage = 'draft' | 'published' | 'edited' | 'version';
export type Collection = 'records' | 'packages';
export type Access = 'public' | 'restricted files' | 'restricted' | 'embargoed files' | 'embargoed';

/** An entity as the cells of the matrix need it. */
export interface State {
  stage: Stage;
  /** Of the published form, if there is one. */
  published: Access;
  /** Of the draft, where there is one. */
  draft: Access;
  /** A resource in a package, whose links the callers present. */
  isManaged?: true;
}

const alike = (stage: Stage, access: Access): State => ({ stage, published: access, draft: access });

const BOTH: Readonly<Record<string, State>> = {
  'unpublished draft': alike('draft', 'public'),
  'unpublished restricted draft': alike('draft', 'restricted'),
  'published, public': alike('published', 'public'),
  'published, restricted': alike('published', 'restricted'),
  'published, files restricted': alike('published', 'restricted files'),
  'published, embargoed': alike('published', 'embargoed'),
  'published, public, with a restricted draft beside it': {
    stage: 'edited',
    published: 'public',
    draft: 'restricted',
  },
  'draft of the next version': alike('version', 'public'),
};

/** One for each stage that lacks a form. */
export const PLAIN: ReadonlySet<State | undefined> = new Set([
  BOTH['unpublished draft'],
  BOTH['published, public'],
]);

/** Differences that depend on the lifecycle alone, which both kinds share. */
const FURTHER: Readonly<Record<string, State>> = {
  'published, files embargoed': alike('published', 'embargoed files'),
  'published, restricted, with a public draft beside it': {
    stage: 'edited',
    published: 'restricted',
    draft: 'public',
  },
};

const MANAGED: Readonly<Record<string, State>> = {
  'unpublished draft in a package': { ...alike('draft', 'restricted'), isManaged: true },
  'published in a package, restricted': { ...alike('published', 'restricted'), isManaged: true },
};

export const STATES: Readonly<Record<Collection, Readonly<Record<string, State>>>> = {
  records: { ...BOTH, ...FURTHER, ...MANAGED },
  packages: BOTH,
};

const UNTIL = '2199-01-01';
const EMBARGO = { active: true, until: UNTIL, reason: 'Fieldwork' };

/** As in a body. */
export const ACCESS: Readonly<Record<Access, { record: string; files: string; embargo?: object }>> = {
  public: { record: 'public', files: 'public' },
  'restricted files': { record: 'public', files: 'restricted' },
  restricted: { record: 'restricted', files: 'restricted' },
  'embargoed files': { record: 'public', files: 'restricted', embargo: EMBARGO },
  embargoed: { record: 'restricted', files: 'restricted', embargo: EMBARGO },
};

export const isRecordPublic = (access: Access): boolean => ACCESS[access].record === 'public';
export const areFilesPublic = (access: Access): boolean => ACCESS[access].files === 'public';
