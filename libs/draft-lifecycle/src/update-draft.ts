import type { UpdateDraftRequest__Output, UpdateDraftResponse } from '@kr/contracts';
import type { OutboxEvent } from '@kr/event-bus';
import type { CallContext } from '@kr/rpc';
import type { Issue } from '@kr/service-error';
import { changeDraft, type DraftChange, draftForChange } from './change-draft.ts';
import { checkContent } from './check-content.ts';
import type { DraftContent } from './content-rules.ts';
import type { DraftFace, Entity } from './entity.ts';
import { entityDocument } from './entity-documents.ts';
import { lasting } from './issue-rules.ts';
import type { JsonObject } from './json-object.ts';
import type { LifecycleContext } from './lifecycle-context.ts';
import { type FileCounts, NO_FILES } from './lifecycle-deps.ts';
import type { LifecycleSql } from './lifecycle-sql.ts';
import { requestBody } from './request-body.ts';

/**
 * RPC UpdateDraft: the body replaces the content.
 *
 * @throws ServiceError, in this order
 *   - `not_found`: no such entity, or it has no draft
 *   - `precondition_failed`: it is not at `if_revision`
 *   - `unauthenticated`, `forbidden`: the caller may not
 *   - `conflict` (`draft_locked`): it is being published
 *   - `invalid`: the body is no object, or says what not even a draft may say
 */
export function updateDraft<Tx extends LifecycleSql>(context: LifecycleContext<Tx>) {
  return async (
    { id, ifRevision, body }: UpdateDraftRequest__Output,
    { principal }: CallContext,
  ): Promise<UpdateDraftResponse> => {
    const change: DraftChange = { id, ifRevision, action: 'update_draft', principal };
    const { entity, draft } = await draftForChange(context, change);
    const sent = { body: requestBody(body), counts: await context.describeBuckets([id]), now: context.now() };
    // Only who meets another change waits for its turn.
    const saved =
      (await saveUnchanged(context, { ...entity, draft }, sent)) ??
      (await changeDraft(context, change, (tx, current, currentDraft) =>
        saveLocked(context, tx, { ...current, draft: currentDraft }, sent),
      ));
    const known = { counts: sent.counts, issues: saved.issues };
    return {
      document: await entityDocument(context, { entity: saved.entity, form: 'draft' }, principal, known),
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
  /** Everything that was wrong with the body. */
  issues: readonly Issue[];
}

type OpenDraft = Entity & { draft: DraftFace };

/** Undefined, and nothing done, when the draft is no longer what it was. */
async function saveUnchanged<Tx extends LifecycleSql>(
  context: LifecycleContext<Tx>,
  entity: OpenDraft,
  sent: Sent,
): Promise<Saved | undefined> {
  const { store, database, nudge } = context;
  const { id, draft } = entity;
  const content = await contentOf(context, database, entity, sent);
  const revision = draft.revision + 1;
  const event = savedEvent(context, entity, revision);
  if (!(await store.replaceUnchanged(database, { id, revision: draft.revision }, content, event, sent.now)))
    return undefined;
  nudge();
  return saved(entity, content, revision, sent.now);
}

async function saveLocked<Tx extends LifecycleSql>(
  context: LifecycleContext<Tx>,
  tx: Tx,
  entity: OpenDraft,
  sent: Sent,
): Promise<Saved> {
  const content = await contentOf(context, tx, entity, sent);
  const revision = await context.store.replaceDraft(tx, entity.id, content, sent.now);
  await context.store.appendEvents(tx, [savedEvent(context, entity, revision)]);
  return saved(entity, content, revision, sent.now);
}

function contentOf<Tx extends LifecycleSql>(
  { kind, doiPrefix }: LifecycleContext<Tx>,
  sql: LifecycleSql,
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

function savedEvent<Tx extends LifecycleSql>(
  { kind }: LifecycleContext<Tx>,
  { id, parent }: Entity,
  revision: number,
): OutboxEvent {
  return kind.events.draftSaved({ id, parentId: parent.id, revision });
}

function saved(
  entity: OpenDraft,
  { document, issues }: DraftContent,
  revision: number,
  updatedAt: Date,
): Saved {
  return {
    entity: { ...entity, draft: { ...entity.draft, document, issues: lasting(issues), revision, updatedAt } },
    issues,
  };
}
