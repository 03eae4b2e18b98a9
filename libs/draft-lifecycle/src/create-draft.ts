import { authorise } from '@kr/access-policy';
import type { CreateDraftRequest__Output, CreateDraftResponse } from '@kr/contracts';
import { appendEvents } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import { checkContent } from './check-content.ts';
import { noteCreation } from './creation-store.ts';
import { insertEntity, removeDraft } from './draft-store.ts';
import type { Entity } from './entity.ts';
import { entityDocument } from './entity-documents.ts';
import { loadEntities } from './entity-store.ts';
import { lasting } from './issue-rules.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { NO_FILES } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { requestBody } from './request-body.ts';
import type { StoredDocument } from './stored-document.ts';
import { transact } from './transact.ts';

/**
 * RPC CreateDraft. A repeated creation is answered with the entity that it made, as it is.
 *
 * @throws ServiceError
 *   - `unauthenticated`, `forbidden`: the caller is no user
 *   - `invalid`: the body is no object, or says what not even a draft may say
 */
export function createDraft<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  const { kind, newId, doiPrefix } = context;
  return async (
    { body, creationKey }: CreateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateDraftResponse> => {
    authorise(principal, 'create', null);
    const ownerId = principal.userId;
    if (ownerId === null) throw new ServiceError('forbidden', 'Permission denied.');
    const sent = requestBody(body);
    const now = context.now();

    const made = await transact(context, async (tx) => {
      for (;;) {
        const [id, parentId] = [newId(), newId()];
        const input = { kind: kind.name, id, doiPrefix, now, counts: NO_FILES, registered: {}, before: null };
        const { document, issues } = await checkContent(tx, sent, input);
        if (!(await insertEntity(tx, { id, parentId, ownerId, document, issues }, now))) continue;
        const before =
          creationKey.length === 0 ? id : await noteCreation(tx, { key: creationKey, entityId: id }, now);
        if (before !== id) {
          await removeDraft(tx, { id, parentId, revision: 1, isPublished: false, isParentGone: true });
          return { entity: await knownEntity(tx, before), known: {} };
        }
        await appendEvents(tx, [kind.events.draftSaved({ id, parentId, revision: 1 })]);
        const entity = firstDraft({ id, parentId, ownerId, document, issues, now });
        return { entity, known: { counts: new Map(), related: new Map(), issues } };
      }
    });
    const form = made.entity.draft === null ? 'published' : 'draft';
    return { document: await entityDocument(context, { entity: made.entity, form }, principal, made.known) };
  };
}

async function knownEntity(tx: LifecycleSql, id: string): Promise<Entity> {
  const entity = (await loadEntities(tx, [id])).get(id);
  if (entity === undefined) throw new Error(`the creation of ${id} is known, but not ${id}`);
  return entity;
}

function firstDraft({
  id,
  parentId,
  ownerId,
  document,
  issues,
  now,
}: {
  id: string;
  parentId: string;
  ownerId: string;
  document: StoredDocument;
  issues: readonly Issue[];
  now: Date;
}): Entity {
  return {
    id,
    versionIndex: 1,
    parent: { id: parentId, ownerId, managedBy: null, wasManaged: false, linkIds: [] },
    published: null,
    draft: {
      document,
      issues: lasting(issues),
      revision: 1,
      lockedBy: null,
      createdAt: now,
      updatedAt: now,
    },
    pending: [],
    latestIndex: 0,
    lastIndex: 1,
    nextDraftRevision: 2,
  };
}
