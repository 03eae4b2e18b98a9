import { readTrail } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type {
  DescribeRecordsRequest__Output,
  DescribeRecordsResponse,
  ReadPackageTrailRequest__Output,
  ReadPackageTrailResponse,
} from '@kr/contracts';
import {
  assertService,
  type Entity,
  findEntities,
  isAllowedOn,
  type LifecycleContext,
} from '@kr/draft-lifecycle';
import type { CallContext } from '@kr/rpc';

/** Whether the caller may read a resource in one form at least. */
export function isReadable(principal: Principal, entity: Entity, now: Date): boolean {
  const { draft, published } = entity;
  return (
    (published !== null && isAllowedOn(principal, 'read', entity, published, now)) ||
    (draft !== null && isAllowedOn(principal, 'read_draft', entity, draft, now))
  );
}

/**
 * RPC DescribeRecords. @throws ServiceError `unavailable` when one is staged and the coordinator cannot be
 * reached
 */
export function describeRecords(context: LifecycleContext) {
  return async (
    { ids }: DescribeRecordsRequest__Output,
    { principal }: CallContext,
  ): Promise<DescribeRecordsResponse> => {
    const entities = await findEntities(context, ids);
    const now = context.now();
    const records = [...entities.values()].map((entity) => ({
      id: entity.id,
      parentId: entity.parent.id,
      hasDraft: entity.draft !== null,
      isPublished: entity.published !== null,
      managedBy: entity.parent.managedBy ?? '',
      isReadable: isReadable(principal, entity, now),
    }));
    return { records };
  };
}

/** RPC ReadPackageTrail. @throws ServiceError `forbidden` when the caller is no service */
export function readPackageTrail(context: LifecycleContext) {
  return async (
    { packageParentId, limit }: ReadPackageTrailRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadPackageTrailResponse> => {
    assertService(principal);
    return { trail: await readTrail(context.database, packageParentId, limit) };
  };
}
