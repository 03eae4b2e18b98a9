import type { Database, Tx } from './prisma.ts';

/** The resources of one package version, in the order they were added. */
export async function resourceIdsOf(sql: Database | Tx, packageId: string): Promise<string[]> {
  const rows = await sql.packageResource.findMany({
    where: { packageId },
    orderBy: { position: 'asc' },
    select: { resourceId: true },
  });
  return rows.map(({ resourceId }) => resourceId);
}

/** Writes the list of a version whose draft is locked by the transaction; only what differs is touched. */
export async function replaceResourceIds(
  tx: Tx,
  packageId: string,
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const gone = before.filter((id) => !after.includes(id));
  const added = after.filter((id) => !before.includes(id));
  if (gone.length > 0) {
    await tx.packageResource.deleteMany({ where: { packageId, resourceId: { in: gone } } });
  }
  if (added.length === 0) return;
  const last = await tx.packageResource.aggregate({ where: { packageId }, _max: { position: true } });
  const start = (last._max.position ?? 0) + 1;
  await tx.packageResource.createMany({
    data: added.map((resourceId, index) => ({ packageId, resourceId, position: start + index })),
  });
}

/** The versions not yet published that hold one of these resources. */
export async function draftsHolding(
  sql: Database | Tx,
  resourceIds: readonly string[],
): Promise<{ packageId: string }[]> {
  const rows = await sql.packageResource.findMany({
    where: { resourceId: { in: [...resourceIds] } },
    distinct: ['packageId'],
    select: { packageId: true },
  });
  const drafts = await sql.version.findMany({
    where: { id: { in: rows.map(({ packageId }) => packageId) }, visible: false },
    select: { id: true },
  });
  return drafts.map(({ id }) => ({ packageId: id }));
}
