import { appendChangedEvents, type LifecycleContext, transact } from '@kr/draft-lifecycle';
import type { ReceivedEvent } from '@kr/event-bus';
import type { RecordsContext } from '../context.ts';
import { releaseManaged } from '../package-relations/managed-records.ts';
import { applyPackageUpdate, restrictionOf } from '../package-relations/set-package-resources.ts';
import { markPublishedWith, publishedAmong } from '../store/package-relation-store.ts';

export const PACKAGE_SUBJECTS = [
  'knowledge.packages.resources.changed',
  'knowledge.packages.package.published',
  'knowledge.packages.draft.deleted',
] as const;

type PackageEvent = ReceivedEvent<(typeof PACKAGE_SUBJECTS)[number]>;

/** Applies the packages service's changes of relations if its call did not arrive. */
export function onPackageEvent(context: RecordsContext) {
  return async (events: readonly PackageEvent[]): Promise<void> => {
    const published = await publishedPackages(context, events);
    for (const event of events) {
      if (event.subject === 'knowledge.packages.package.published' && published.has(event.payload.id))
        continue;
      await apply(context, event);
    }
  };
}

/** Packages that a call marked as published before their event was delivered. */
async function publishedPackages({ database }: RecordsContext, events: readonly PackageEvent[]) {
  const ids = events.flatMap(({ subject, payload }) =>
    subject === 'knowledge.packages.package.published' ? [payload.id] : [],
  );
  return new Set(ids.length === 0 ? [] : await publishedAmong(database, ids));
}

async function apply(context: RecordsContext, event: PackageEvent): Promise<void> {
  switch (event.subject) {
    case 'knowledge.packages.resources.changed': {
      const { id, parentId, revision, recordIds } = event.payload;
      const restriction = restrictionOf({ ...event.payload, packageParentId: parentId });
      return applyPackageUpdate(context, {
        packageId: id,
        revision,
        recordIds,
        requestId: event.id,
        restriction,
      });
    }
    case 'knowledge.packages.package.published':
      return markPackagePublished(context, event.payload.id);
    case 'knowledge.packages.draft.deleted': {
      const { id, parentId, revision, isPublished } = event.payload;
      if (isPublished) return;
      await applyPackageUpdate(context, { packageId: id, revision, recordIds: [], requestId: event.id });
      // The package may have another version.
      const existing = await context.findOtherKind([parentId]);
      if (existing.has(parentId)) return;
      await releaseManaged(context, { packageParentId: parentId, packageId: id }, event.id);
    }
  }
}

export async function markPackagePublished(context: LifecycleContext, packageId: string): Promise<void> {
  await transact(context, async (tx) => {
    const records = await markPublishedWith(tx, packageId, []);
    if (records.length > 0) await appendChangedEvents(context, tx, records);
  });
}
