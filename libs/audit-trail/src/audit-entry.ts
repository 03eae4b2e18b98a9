import type { Actor } from '@kr/caller';

/** Everything that a trail tells of; docs/audit-trail.md says what each is and what its metadata are. */
export const AUDIT_ACTIONS = [
  'draft.create',
  'draft.edit',
  'draft.new_version',
  'draft.update',
  'draft.restrict',
  'draft.delete',
  'pid.reserve',
  'pid.discard',
  'record.publish',
  'package.publish',
  'record.associate',
  'record.dissociate',
  'context.associate',
  'context.dissociate',
  'context.update',
  'resources.add',
  'resources.remove',
  'file.init',
  'file.import',
  'file.update',
  'file.commit',
  'file.delete',
  'link.create',
  'link.update',
  'link.revoke',
  'entity.remove',
  'entity.restore',
  'entity.purge',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** One thing that was done, about to be written. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** The version of the entity that it was done to. */
  readonly entityId: string;
  /** What all versions of the entity share. */
  readonly parentId: string;
  readonly actor: Actor;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of `draft.delete`, and of nothing else: whose it was. */
  readonly ownerId?: string;
}
