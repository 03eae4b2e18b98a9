import type { Principal } from '@kr/caller';
import type { CreateVersionRequest__Output, CreateVersionResponse } from '@kr/contracts';
import type { Sql } from '@kr/database';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import {
  assertRevision,
  getEntity,
  type LifecycleContext,
  notRegistered,
  requirePublished,
  transact,
} from '../context/context.ts';
import { assertAllowedOn } from '../model/access.ts';
import { nextVersionContent } from '../model/content.ts';
import { type Entity, newDraft } from '../model/entity.ts';
import { insertVersion } from '../store/drafts.ts';
import { findOpenVersion, loadEntities, loadLatest, lockParent } from '../store/entities.ts';
import { entityEntry } from './audit.ts';
import { entityDocument } from './documents.ts';

const MAX_VERSIONS = 1_000;

/**
 * RPC CreateVersion: the draft of the next version, made from the latest published one; an open one is
 * returned unchanged.
 *
 * @throws ServiceError - `not_found`: no such entity, or it was never published - `unauthenticated`,
 * `forbidden`: not allowed - `precondition_failed`: its published version is not at `if_revision` -
 * `invalid`: the entity has 1,000 versions (`too_many_versions`), or its owner has the maximum number of
 * drafts - `unavailable`: a version is staged and the coordinator cannot be reached
 */
export function createVersion(context: LifecycleContext) {
  return async (
    { id, ifRevision }: CreateVersionRequest__Output,
    { principal }: CallContext,
  ): Promise<CreateVersionResponse> => {
    const found = await getEntity(context, id);
    assertAllowedOn(principal, 'new_version', found, requirePublished(found), context.now());
    const entity = await transact(context, async (tx) => {
      await lockParent(tx, found.parent.id);
      const current = await context.store.loadLocked(tx, id);
      assertRevision(ifRevision, requirePublished(current ?? found));
      return openVersion(context, tx, found.parent.id, principal);
    });
    return { document: await entityDocument(context, { entity, form: 'draft' }, principal) };
  };
}

async function openVersion(
  context: LifecycleContext,
  tx: Sql,
  parentId: string,
  principal: Principal,
): Promise<Entity> {
  const { kind, newId, store } = context;
  const open = await findOpenVersion(tx, parentId, kind.related);
  if (open !== undefined) return open;
  const latest = await loadLatest(tx, parentId);
  if (latest === undefined) throw notRegistered();
  if (latest.lastIndex >= MAX_VERSIONS) throw tooManyVersions();
  await context.draftQuota.reserveDraft(tx, latest.parent.ownerId);

  const document = nextVersionContent(requirePublished(latest).document, kind.fieldsResetOnNewVersion);
  const [id, versionIndex] = [await freeId(tx, newId), latest.lastIndex + 1];
  const now = context.now();
  await insertVersion(tx, { id, parentId, versionIndex, document }, now);
  await store.appendChangeLog(tx, {
    events: [kind.events.draftSaved({ id, parentId, revision: 1 })],
    entries: [
      entityEntry(
        principal,
        'draft.new_version',
        { id, parent: latest.parent },
        { version: versionIndex, from: latest.id },
      ),
    ],
  });
  return {
    ...latest,
    id,
    versionIndex,
    lastIndex: versionIndex,
    published: null,
    draft: newDraft(document, 1, now),
    nextDraftRevision: 2,
    related: { draft: [], published: [] },
  };
}

function tooManyVersions(): ServiceError {
  return new ServiceError('invalid', `An entity may have at most ${MAX_VERSIONS} versions.`, {
    code: 'too_many_versions',
  });
}

async function freeId(tx: Sql, newId: () => string): Promise<string> {
  const id = newId();
  return (await loadEntities(tx, [id])).size === 0 ? id : freeId(tx, newId);
}
