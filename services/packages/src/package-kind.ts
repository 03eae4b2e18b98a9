import { type EntityKind, entityEvents, relationsOf } from '@kr/draft-lifecycle';
import { newEvent } from '@kr/event-bus';
import { isRestricting, resourcesChanged, versionUpdate } from './resources/version-update.ts';

// Both forms of a version hold the same resources: they are frozen when it is published.
const RELATED = `
  select ids as of_draft, ids as of_published
  from (select array_agg(resource_id order by position) as ids from package_resource where package_id = v.id) r`;

/** The rules and columns that are specific to knowledge packages (REST document, 2.1, 2.3 and 3). */
export const packageKind: EntityKind = {
  name: 'package',
  parentType: 'package',
  fieldsResetOnNewVersion: ['publication_date'],
  isEditDraftPublished: true,
  showsManagement: false,
  relationKey: 'resources',
  extraFields: { assistance_requests: [] },

  related: RELATED,

  events: {
    ...entityEvents('package'),
    draftUpdated: (draft, now) => {
      const update = versionUpdate(draft, relationsOf(draft).draft, now);
      return isRestricting(update) ? [resourcesChanged(update)] : [];
    },
    published: ({ id, parentId, revision }, { id: publicationId, recordIds }) =>
      newEvent(
        'knowledge.packages.package.published',
        { id, parentId, revision, publicationId, recordIds: [...recordIds] },
        { aggregateId: id, revision },
      ),
  },
  hooks: {},
};
