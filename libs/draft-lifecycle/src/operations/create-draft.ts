import { authorise } from '@kr/access-policy';
import { auditEntry } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { CreateDraftRequest__Output, CreateDraftResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import type { LifecycleContext } from '../context/context.ts';
import { transact } from '../context/context.ts';
import { requestBody } from '../model/content.ts';
import type { Entity, JsonObject, StoredDocument } from '../model/entity.ts';
import { NO_FILES } from '../model/files.ts';
import { lasting } from '../model/issues.ts';
import { type ChangeLog, insertEntity, noteCreation, removeDraft } from '../store/drafts.ts';
import { loadEntities } from '../store/entities.ts';
import { checkContent } from './check-content.ts';
import { entityDocument, type Known } from './documents.ts';

/**
 * RPC CreateDraft. A repeated creation returns the entity that the first one created, in its current state.
 *
 * @throws ServiceError - `unauthenticated`, `forbidden`: the caller is no user - `invalid`: the body is no
 * object, has content that not even a draft may have, or the owner has the maximum number of drafts
 */
export function createDraft(context: LifecycleContext) {
  return async (
    { body, creationKey }: CreateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateDraftResponse> => {
    authorise(principal, 'create', null);
    const ownerId = principal.userId;
    if (ownerId === null) throw new ServiceError('forbidden', 'Permission denied.');
    const sent = requestBody(body);
    await context.owners.takeDraft(context.database, ownerId);
    const now = context.now();

    const draft = { principal, ownerId, sent, now };
    const { entity, known } =
      creationKey.length === 0
        ? await makeAtOnce(context, draft)
        : await transact(context, (tx) => makeOnce(context, tx, draft, creationKey));
    const form = entity.draft === null ? 'published' : 'draft';
    return { document: await entityDocument(context, { entity, form }, principal, known) };
  };
}

interface NewDraft {
  principal: Principal;
  ownerId: string;
  sent: JsonObject;
  now: Date;
}

interface Made {
  entity: Entity;
  known: Known;
}

async function makeAtOnce(context: LifecycleContext, draft: NewDraft): Promise<Made> {
  const made = await insertDraft(context, context.database, draft, toldOf(context, draft));
  context.nudge();
  return made;
}

async function makeOnce(context: LifecycleContext, tx: Sql, draft: NewDraft, key: Uint8Array): Promise<Made> {
  const made = await insertDraft(context, tx, draft, () => NOTHING);
  const { id, parent } = made.entity;
  const before = await noteCreation(tx, { key, entityId: id }, draft.now);
  if (before !== id) {
    await removeDraft(tx, { id, parentId: parent.id, revision: 1, isPublished: false, isParentGone: true });
    return { entity: await knownEntity(tx, before), known: {} };
  }
  await context.store.tell(tx, toldOf(context, draft)({ id, parentId: parent.id }));
  return made;
}

const NOTHING: ChangeLog = { events: [], entries: [] };

/** Events and audit entry of a new draft. */
function toldOf({ kind }: LifecycleContext, { principal }: NewDraft) {
  return ({ id, parentId }: { id: string; parentId: string }): ChangeLog => ({
    events: [kind.events.draftSaved({ id, parentId, revision: 1 })],
    entries: [auditEntry(principal, 'draft.create', { id, parentId })],
  });
}

/** Under unused ids, with its events. */
async function insertDraft(
  { kind, newId, doiPrefix }: LifecycleContext,
  sql: Sql,
  { ownerId, sent, now }: NewDraft,
  told: (made: { id: string; parentId: string }) => ChangeLog,
): Promise<Made> {
  for (;;) {
    const [id, parentId] = [newId(), newId()];
    const input = { kind: kind.name, id, doiPrefix, now, counts: NO_FILES, registered: {}, before: null };
    const { document, issues } = await checkContent(sql, sent, input);
    const draft = { id, parentId, ownerId, document, issues };
    if (!(await insertEntity(sql, draft, told({ id, parentId }), now))) continue;
    const entity = firstDraft({ ...draft, now });
    return { entity, known: { counts: new Map(), issues } };
  }
}

async function knownEntity(tx: Sql, id: string): Promise<Entity> {
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
    related: { draft: [], published: [] },
  };
}
