import type { Actor } from '@kr/caller';

/** All audited actions; docs/audit-trail.md describes each with its metadata. */
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

/** An entry before it is written. */
export interface AuditEntry {
  readonly action: AuditAction;
  /** The version of the entity that it was done to. */
  readonly entityId: string;
  /** Shared by all versions of the entity. */
  readonly parentId: string;
  readonly actor: Actor;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Of `draft.delete`, and of nothing else: whose it was. */
  readonly ownerId?: string;
}
