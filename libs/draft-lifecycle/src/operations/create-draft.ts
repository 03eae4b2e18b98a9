import { authorise } from '@kr/access-policy';
import { auditEntry } from '@kr/audit-trail';
import type { Principal } from '@kr/caller';
import type { CreateDraftRequest__Output, CreateDraftResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import type { LifecycleContext } from '../context/context.ts';
import { draftContent, requestBody } from '../model/content.ts';
import { type Entity, type JsonObject, newDraft, type OpenDraft } from '../model/entity.ts';
import { NO_FILES } from '../model/files.ts';
import { withoutUnknownFields } from '../model/issues.ts';
import { takenDoiIssues } from '../store/dois.ts';
import { findRepeatedCreation, insertEntity } from '../store/drafts.ts';
import { entityDocument } from './documents.ts';

/**
 * RPC CreateDraft. A repeated creation returns the entity that the first one created, in its current state.
 *
 * @throws ServiceError - `unauthenticated`, `forbidden`: the caller is no user - `invalid`: the body is no
 * object, has content that not even a draft may have, or the owner has the maximum number of drafts
 */
export function createDraft(context: LifecycleContext) {
  const { database } = context;
  return async (
    { body, creationKey }: CreateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateDraftResponse> => {
    authorise(principal, 'create', null);
    // The policy allows services to create, but a draft needs an owner.
    const ownerId = principal.userId;
    if (ownerId === null) throw new ServiceError('forbidden', 'Permission denied.');
    const content = requestBody(body);
    const key = creationKey.length === 0 ? null : creationKey;
    try {
      await context.draftQuota.reserveDraft(database, ownerId);
    } catch (limitError) {
      // The first call with this key may have taken the last draft.
      const repeated = key === null ? undefined : await repeatedCreation(context, key);
      if (repeated === undefined) throw limitError;
      return currentDocument(context, repeated, principal);
    }
    for (;;) {
      const { entity, issues } = await firstDraft(context, ownerId, content);
      if (await insertEntity(database, entity, changeLogOf(context, entity, principal), key)) {
        context.wakeRelay();
        const precomputed = { counts: new Map(), issues };
        return { document: await entityDocument(context, { entity, form: 'draft' }, principal, precomputed) };
      }
      // One of the ids is taken, or the creation is a repeated one.
      const repeated = key === null ? undefined : await repeatedCreation(context, key);
      if (repeated !== undefined) return currentDocument(context, repeated, principal);
    }
  };
}

/** The entity that an earlier call with this key created. */
async function repeatedCreation(
  { database, kind, now, store }: LifecycleContext,
  key: Uint8Array,
): Promise<Entity | undefined> {
  const id = await findRepeatedCreation(database, key, now());
  return id === undefined ? undefined : (await store.loadEntities(database, [id], kind.related)).get(id);
}

async function currentDocument(
  context: LifecycleContext,
  entity: Entity,
  principal: Principal,
): Promise<CreateDraftResponse> {
  const form = entity.draft === null ? 'published' : 'draft';
  return { document: await entityDocument(context, { entity, form }, principal) };
}

/** A new entity under new ids, before it is inserted, with all problems of its body. */
async function firstDraft(
  { kind, newId, doiPrefix, vocabularies, database, now }: LifecycleContext,
  ownerId: string,
  body: JsonObject,
): Promise<{ entity: OpenDraft; issues: readonly Issue[] }> {
  const [id, at] = [newId(), now()];
  const input = {
    kind: kind.name,
    id,
    doiPrefix,
    vocabularies,
    now: at,
    counts: NO_FILES,
    registered: {},
    before: null,
  };
  const { document, issues: ofContent } = draftContent(body, input);
  const issues = [...ofContent, ...(await takenDoiIssues(database, id, document.pids))];
  const entity = {
    id,
    versionIndex: 1,
    parent: { id: newId(), ownerId, managedBy: null, wasManaged: false, linkIds: [] },
    published: null,
    draft: { ...newDraft(document, 1, at), issues: withoutUnknownFields(issues) },
    pending: [],
    latestIndex: 0,
    lastIndex: 1,
    nextDraftRevision: 2,
    related: { draft: [], published: [] },
  };
  return { entity, issues };
}

function changeLogOf({ kind }: LifecycleContext, { id, parent }: Entity, principal: Principal) {
  const saved = { id, parentId: parent.id, revision: 1 };
  return {
    events: [kind.events.draftSaved(saved)],
    entries: [auditEntry(principal, 'draft.create', saved)],
  };
}
