import { appendChangedEvents, type EntityKind, entityEvents } from '@kr/draft-lifecycle';
import { newEvent } from '@kr/event-bus';
import { markPublishedWith, RELATED, removeRecord } from './store/package-relation-store.ts';

/** The rules and columns that are specific to knowledge resources (REST document, 2.1, 2.2 and 3). */
export const recordKind: EntityKind = {
  name: 'record',
  parentType: 'resource',
  fieldsResetOnNewVersion: ['publication_date', 'version'],
  isEditDraftPublished: false,
  showsManagement: true,
  relationKey: 'packages',
  extraFields: {},

  related: RELATED,

  events: {
    ...entityEvents('record'),
    published: ({ id, parentId, revision }, { id: publicationId, packageId }) =>
      newEvent(
        'knowledge.records.record.published',
        { id, parentId, revision, publicationId, packageId },
        { aggregateId: id, revision },
      ),
  },

  hooks: {
    // The relation of a published resource outlives its edit draft.
    draftDeleted: async (tx, { id, isPublished }) => (isPublished ? [] : removeRecord(tx, id)),
    published: async (tx, entities, { packageId }) => {
      if (packageId === '') return;
      const together = entities.map(({ id }) => id);
      const others = await markPublishedWith(tx, packageId, together);
      if (others.length > 0) await appendChangedEvents({ kind: recordKind }, tx, others);
    },
  },
};
