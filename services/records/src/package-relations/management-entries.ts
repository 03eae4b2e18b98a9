import { type AuditEntry, auditEntry } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';

/** The package whose context resources enter or leave. */
export interface NamedPackage {
  packageParentId: string;
  /** The version that was named, or was the last. */
  packageId: string;
}

/** One entry for each resource, and one for their package. Its trail is kept here, for here is where it happens. */
export function managementEntries(
  principal: Principal,
  verb: 'associate' | 'dissociate',
  { packageParentId, packageId }: NamedPackage,
  records: readonly { id: string; parentId: string }[],
): AuditEntry[] {
  return [
    ...records.map((record) => {
      const managed = { ...record, managedBy: packageParentId };
      return auditEntry(principal, `record.${verb}`, managed, { package: packageId });
    }),
    auditEntry(
      principal,
      `context.${verb}`,
      { id: packageId, parentId: packageParentId },
      { records: records.map((record) => record.id) },
    ),
  ];
}

/** The first named of each parent: what is done is done to all its versions. */
export function onePerParent(
  entities: readonly { id: string; parent: { id: string } }[],
): { id: string; parentId: string }[] {
  const byParent = new Map<string, { id: string; parentId: string }>();
  for (const { id, parent } of entities) {
    if (!byParent.has(parent.id)) byParent.set(parent.id, { id, parentId: parent.id });
  }
  return [...byParent.values()];
}
