import { servicePrincipal } from '@kr/caller';
import type { ReceivedEvent } from '@kr/event-bus';
import type { PackagesContext } from '../context.ts';
import { restrictedVersions } from '../package-context/restricted-versions.ts';

/** A restricted package whose own call to the records service was lost is told of again. */
export function onPackageDraftSaved(context: PackagesContext) {
  return async (events: readonly ReceivedEvent<'knowledge.packages.draft.saved'>[]): Promise<void> => {
    const newest = new Map(events.map((event) => [event.payload.id, event]));
    const versions = await restrictedVersions(context, [...newest.keys()]);
    for (const { id, parentId, ids: resources, ...news } of versions) {
      const request = { packageId: id, packageParentId: parentId, ids: [...resources], ...news };
      await context.records.setPackageResources(request, servicePrincipal('packages', newest.get(id)?.id));
    }
  };
}
