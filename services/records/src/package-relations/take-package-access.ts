import { isDeepStrictEqual } from 'node:util';
import { appendAudited, auditEntry } from '@kr/audit-trail';
import { servicePrincipal } from '@kr/caller';
import { assertUnlocked, type LifecycleContext } from '@kr/draft-lifecycle';
import type { Tx } from '../store/prisma.ts';
import { lockParents } from './lock-parents.ts';

/**
 * The access that a restricted package imposes on the resources it manages (REST behaviour of `access`,
 * packages).
 */
export interface PackageAccess {
  packageParentId: string;
  /** The resources that shall be as closed as the package. */
  ids: readonly string[];
  /** The package's `access` as it is kept. */
  access: object;
}

/**
 * Gives drafts that were never published their package's access. Unmanaged and published records stay
 * unchanged.
 *
 * @throws ServiceError `conflict` (`draft_locked`): one of them is being published
 */
export async function takePackageAccess(
  { kind, now }: Pick<LifecycleContext, 'kind' | 'now'>,
  tx: Tx,
  { packageId, requestId }: { packageId: string; requestId: string },
  { packageParentId, ids, access }: PackageAccess,
): Promise<void> {
  const held = [...(await lockParents(tx, ids)).values()].filter(
    ({ parent, published, draft }) =>
      parent.managedBy === packageParentId &&
      published === null &&
      draft !== null &&
      !isDeepStrictEqual(draft.document.access, access),
  );
  for (const { draft } of held) if (draft !== null) assertUnlocked(draft);
  // Problems of the replaced access are resolved.
  const rows = await tx.$queryRawUnsafe<{ id: string; parent_id: string; revision: bigint }[]>(
    `update draft d
     set document = jsonb_set(d.document, '{access}', $2::jsonb), revision = d.revision + 1, updated_at = $3::timestamptz,
         issues = coalesce((select jsonb_agg(i) from jsonb_array_elements(d.issues) i
                            where split_part(i ->> 'field', '.', 1) <> 'access'), '[]')
     from version v
     where v.id = d.id and d.id = any($1::text[]) and d.document -> 'access' is distinct from $2::jsonb
     returning d.id, v.parent_id, d.revision`,
    held.map(({ id }) => id),
    JSON.stringify(access),
    now().toISOString(),
  );
  const saved = rows.map(({ id, parent_id, revision }) => {
    return { id, parentId: parent_id, revision: Number(revision) };
  });
  const packages = servicePrincipal('packages', requestId);
  await appendAudited(
    tx,
    saved.map((draft) => kind.events.draftSaved(draft)),
    saved.map((draft) => auditEntry(packages, 'draft.restrict', draft, { package: packageId })),
  );
}
