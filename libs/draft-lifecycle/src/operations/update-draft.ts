import type { Principal } from '@kr/caller';
import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import type { LifecycleContext } from '../context/context.ts';
import type { DraftContent } from '../model/content.ts';
import { requestBody } from '../model/content.ts';
import type { DraftFace, Entity, JsonObject } from '../model/entity.ts';
import { type FileCounts, NO_FILES } from '../model/files.ts';
import { lasting } from '../model/issues.ts';
import type { ChangeLog } from '../store/drafts.ts';
import { entityEntry } from './audit.ts';
import { changeDraft, type DraftChange, draftForChange } from './change-draft.ts';
import { checkContent } from './check-content.ts';
import { draftCounts, entityDocument, type Known } from './documents.ts';

/**
 * RPC UpdateDraft: the body replaces the content.
 *
 * @throws ServiceError, in this order - `not_found`: no such entity, or it has no draft -
 * `precondition_failed`: it is not at `if_revision` - `unauthenticated`, `forbidden`: not allowed -
 * `conflict` (`draft_locked`): it is being published - `invalid`: the body is no object, or has content that
 * not even a draft may have
 */
export function updateDraft(context: LifecycleContext) {
  return async (
    { id, ifRevision, body }: UpdateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateDraftResponse> => {
    const change: DraftChange = { id, ifRevision, action: 'update_draft', principal };
    const { entity, draft } = await draftForChange(context, change);
    const content = requestBody(body);
    // Only who meets another change waits for its turn.
    const saved =
      (await saveUnchanged(context, { ...entity, draft }, content, principal)) ??
      (await saveInTurn(context, change, content));
    return {
      document: await entityDocument(
        context,
        { entity: saved.entity, form: 'draft' },
        principal,
        saved.known,
      ),
    };
  };
}

interface Sent {
  body: JsonObject;
  counts: ReadonlyMap<string, FileCounts>;
  now: Date;
}

interface Saved {
  entity: Entity;
  /** The counts used, and all problems of the body. */
  known: Known;
}

type OpenDraft = Entity & { draft: DraftFace };

/** Undefined, and nothing done, when the draft is no longer what it was. */
async function saveUnchanged(
  context: LifecycleContext,
  entity: OpenDraft,
  body: JsonObject,
  principal: Principal,
): Promise<Saved | undefined> {
  const { store, database, nudge } = context;
  const { id, draft } = entity;
  const sent = { body, counts: await draftCounts(context, [{ id, ...draft }]), now: context.now() };
  const content = await contentOf(context, database, entity, sent);
  const revision = draft.revision + 1;
  const told = toldOf(context, entity, content, revision, principal);
  if (!(await store.replaceUnchanged(database, { id, revision: draft.revision }, content, told, sent.now)))
    return undefined;
  nudge();
  return saved(entity, content, revision, sent);
}

async function saveInTurn(context: LifecycleContext, change: DraftChange, body: JsonObject): Promise<Saved> {
  const sent = { body, counts: await context.describeBuckets([change.id]), now: context.now() };
  return changeDraft(context, change, async (tx, entity, draft) => {
    const current = { ...entity, draft };
    const content = await contentOf(context, tx, current, sent);
    const revision = await context.store.replaceDraft(tx, entity.id, content, sent.now);
    await context.store.tell(tx, toldOf(context, current, content, revision, change.principal));
    return saved(current, content, revision, sent);
  });
}

function contentOf(
  { kind, doiPrefix }: LifecycleContext,
  sql: Sql,
  { id, published, draft }: OpenDraft,
  { body, counts, now }: Sent,
): Promise<DraftContent> {
  return checkContent(sql, body, {
    kind: kind.name,
    id,
    doiPrefix,
    now,
    counts: counts.get(id) ?? NO_FILES,
    registered: published?.document.pids ?? {},
    before: draft,
  });
}

function toldOf(
  { kind }: LifecycleContext,
  entity: OpenDraft,
  { document }: DraftContent,
  revision: number,
  principal: Principal,
): ChangeLog {
  const { id, parent, draft } = entity;
  const before = draft.document.files.enabled;
  const { enabled } = document.files;
  const metadata = { revision, ...(enabled !== before && { files_enabled: enabled }) };
  return {
    events: [kind.events.draftSaved({ id, parentId: parent.id, revision })],
    entries: [entityEntry(principal, 'draft.update', entity, metadata)],
  };
}

function saved(
  entity: OpenDraft,
  { document, issues }: DraftContent,
  revision: number,
  { counts, now }: Sent,
): Saved {
  const draft = { ...entity.draft, document, issues: lasting(issues), revision, updatedAt: now };
  return { entity: { ...entity, draft }, known: { counts, issues } };
}
