import { authorise } from '@kr/access-policy';
import type { CreateDraftRequest__Output, CreateDraftResponse } from '@kr/contracts';
import { appendEvents } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import { checkContent } from './check-content.ts';
import { insertEntity } from './draft-store.ts';
import type { Entity } from './entity.ts';
import { entityDocument } from './entity-documents.ts';
import { lasting } from './issue-rules.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { NO_FILES } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { requestBody } from './request-body.ts';
import type { StoredDocument } from './stored-document.ts';
import { transact } from './transact.ts';

/**
 * RPC CreateDraft.
 *
 * @throws ServiceError
 *   - `unauthenticated`, `forbidden`: the caller is no user
 *   - `invalid`: the body is no object, or says what not even a draft may say
 */
export function createDraft<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  const { kind, newId, doiPrefix } = context;
  return async (
    { body }: CreateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateDraftResponse> => {
    authorise(principal, 'create', null);
    const ownerId = principal.userId;
    if (ownerId === null) throw new ServiceError('forbidden', 'Permission denied.');
    const sent = requestBody(body);
    const now = context.now();

    const { entity, issues } = await transact(context, async (tx) => {
      for (;;) {
        const [id, parentId] = [newId(), newId()];
        const input = { kind: kind.name, id, doiPrefix, now, counts: NO_FILES, registered: {}, before: null };
        const { document, issues } = await checkContent(tx, sent, input);
        if (!(await insertEntity(tx, { id, parentId, ownerId, document, issues }, now))) continue;
        await appendEvents(tx, [kind.events.draftSaved({ id, parentId, revision: 1 })]);
        return { entity: firstDraft({ id, parentId, ownerId, document, issues, now }), issues };
      }
    });
    const known = { counts: new Map(), related: new Map(), issues };
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal, known) };
  };
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
