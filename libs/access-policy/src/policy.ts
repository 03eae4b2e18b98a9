import type { Scope } from '@kr/caller';

/**
 * Roles of a caller towards an entity. The roles of one caller add up; `admin` and `service` are in every row because
 * operators and the system itself pass everywhere.
 */
export type Role =
  /** Everybody, credentials or not. */
  | 'anyone'
  /** Everybody, while the record is public. */
  | 'anyone_if_record_public'
  /** Everybody, while the files are public; the files of a restricted record never are. */
  | 'anyone_if_files_public'
  /** Any signed-in user. A link token alone makes no user. */
  | 'authenticated'
  /** A user who owns the entity's parent. */
  | 'owner'
  /** The holder of a link of that permission on the entity's parent. */
  | 'view_link'
  | 'preview_link'
  | 'edit_link'
  /** A user who operates the system. */
  | 'admin'
  /** A process of the system that acts for itself. */
  | 'service';

const MANAGE = ['owner', 'admin', 'service'] as const;
const CURATE = ['edit_link', ...MANAGE] as const;
const PREVIEW = ['preview_link', ...CURATE] as const;
const VIEW = ['view_link', ...PREVIEW] as const;
const USER = ['authenticated', 'admin', 'service'] as const;

/** Actions on no entity in particular: they may be decided without a subject. */
const GENERAL = {
  search: ['anyone', ...USER],
  create: USER,
  /** The caller's own drafts and published entities. */
  list_own: USER,
  /** The caller's own access tokens. */
  manage_tokens: USER,
  /** Entities removed by administrators; other callers see only entities that were public. */
  list_removals: ['anyone', ...USER],
} as const satisfies Record<string, readonly Role[]>;

const ON_ENTITY = {
  /** The published entity, its versions, the latest of them. */
  read: ['anyone_if_record_public', ...VIEW],
  /** Listing, entries, content and archive of the published entity's files. */
  read_files: ['anyone_if_files_public', ...VIEW],

  read_draft: PREVIEW,
  read_draft_files: PREVIEW,

  update_draft: CURATE,
  delete_draft: CURATE,
  /** Start, upload, commit, change and delete files of a draft. */
  write_files: CURATE,
  import_files: CURATE,
  manage_pids: CURATE,
  publish: CURATE,
  /** Opens a draft of a published entity. */
  edit: CURATE,
  new_version: CURATE,

  /** Package: adds and removes the resources of a draft version. */
  manage_resources: CURATE,
  /** Package: associates and dissociates resources, changes the context's settings. */
  manage_context: CURATE,
  /** Resource: puts it under the management of a package, which opens it by that package's links. */
  associate: MANAGE,

  /** All five operations on access links, reading them included: a link shows its token. */
  manage_links: MANAGE,

  /** Removes the published entity, and restores it. */
  remove: ['admin', 'service'],

  /** Audit trail of the entity in all its versions. */
  read_audit_log: MANAGE,

  /** In bodies: `parent.access`. */
  see_parent_access: MANAGE,
  /** In bodies: `versions.is_latest_draft`. */
  see_draft_state: CURATE,
} as const satisfies Record<string, readonly Role[]>;

export type GeneralAction = keyof typeof GENERAL;
export type EntityAction = keyof typeof ON_ENTITY;
export type Action = GeneralAction | EntityAction;

/** Roles that permit each action; one is enough. */
export const POLICY: Readonly<Record<Action, readonly Role[]>> = { ...GENERAL, ...ON_ENTITY };

/**
 * The scope that a token needs for an action, if any: without it the user's own roles do not count there. Access links
 * and services have no scopes.
 */
export const SCOPE_OF: Readonly<Record<Action, Scope | null>> = {
  search: null,
  list_own: null,
  read: null,
  read_files: null,
  read_draft: null,
  read_draft_files: null,
  see_parent_access: null,
  see_draft_state: null,
  read_audit_log: null,

  create: 'write',
  update_draft: 'write',
  delete_draft: 'write',
  write_files: 'write',
  import_files: 'write',
  manage_pids: 'write',
  edit: 'write',
  new_version: 'write',
  manage_resources: 'write',
  manage_context: 'write',
  associate: 'write',
  manage_links: 'write',
  remove: 'write',
  list_removals: null,

  publish: 'publish',

  manage_tokens: 'tokens',
};

/** Type guard for names received over the wire. */
export function isAction(word: string): word is Action {
  return Object.hasOwn(POLICY, word);
}
