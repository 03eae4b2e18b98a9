import type { EditPublishedRequest__Output, EditPublishedResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import {
  assertRevision,
  getEntity,
  type LifecycleContext,
  requirePublished,
  transact,
  unknownId,
} from '../context/context.ts';
import { assertAllowedOn } from '../model/access.ts';
import { draftFromPublished } from '../model/content.ts';
import { newDraft } from '../model/entity.ts';
import { entityEntry } from './audit.ts';
import { entityDocument } from './documents.ts';

/**
 * RPC EditPublished: opens a draft of the published version; an open draft is returned unchanged.
 *
 * @throws ServiceError - `not_found`: no such entity - `unauthenticated`, `forbidden`: not allowed -
 * `precondition_failed`: neither its draft nor, without one, its published version is at `if_revision` -
 * `unavailable`: it is staged and the coordinator cannot be reached
 */
export function editPublished(context: LifecycleContext) {
  const { kind, store } = context;
  return async (
    { id, ifRevision }: EditPublishedRequest__Output,
    { principal }: CallContext,
  ): Promise<EditPublishedResponse> => {
    const found = await getEntity(context, id);
    const now = context.now();
    assertAllowedOn(principal, 'edit', found, found.draft ?? requirePublished(found), now);
    assertRevision(ifRevision, found.draft ?? requirePublished(found));

    const entity =
      found.draft !== null
        ? found
        : await transact(context, async (tx) => {
            const entity = await store.loadLocked(tx, id, kind.related);
            if (entity === undefined) throw unknownId();
            assertRevision(ifRevision, entity.draft ?? requirePublished(entity));
            if (entity.draft !== null) return entity;
            const document = draftFromPublished(requirePublished(entity).document);
            const revision = entity.nextDraftRevision;
            await store.insertDraft(tx, { id, revision, document }, now);
            await store.appendChangeLog(tx, {
              events: [kind.events.draftSaved({ id, parentId: entity.parent.id, revision })],
              entries: [entityEntry(principal, 'draft.edit', entity, { revision })],
            });
            return { ...entity, draft: newDraft(document, revision, now) };
          });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}
