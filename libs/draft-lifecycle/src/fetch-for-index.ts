import { servicePrincipal } from '@kr/caller';
import type {
  FetchForIndexRequest__Output,
  FetchForIndexResponse,
  IndexDocument,
  RemovedForm,
} from '@kr/contracts';
import { effectiveAccess } from '@kr/metadata';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { Entity, Form } from './entity.ts';
import { FORM_NAMES, type RenderedForm, renderForms } from './entity-documents.ts';
import { findEntities, type LifecycleContext } from './lifecycle-context.ts';
import { assertService } from './permission.ts';
import { isLatest } from './version-rules.ts';

const MAX_IDS = 1_000;
const FORMS: readonly Form[] = ['published', 'draft'];

/**
 * RPC FetchForIndex: both forms of each entity, as its owner would see them; removed ones are only named.
 *
 * @throws ServiceError - `forbidden`: the caller is no service - `invalid`: too many ids - `unavailable`: one
 * is staged and the coordinator cannot be reached, or the files service does not answer
 */
export function fetchForIndex(context: LifecycleContext) {
  return async (
    { ids }: FetchForIndexRequest__Output,
    { principal }: CallContext,
  ): Promise<FetchForIndexResponse> => {
    assertService(principal);
    if (ids.length > MAX_IDS) throw new ServiceError('invalid', `Not more than ${MAX_IDS} entities at once.`);
    const entities = await findEntities(context, [...new Set(ids)]);
    const shown = [...entities.values()].flatMap((entity) =>
      FORMS.filter((form) => isIndexed(entity, form)).map((form) => ({ entity, form })),
    );
    const everything = servicePrincipal('index', principal.requestId);
    // Problems are not searched.
    const forms = await renderForms(context, shown, everything, { issues: [] });
    const now = context.now();
    return {
      documents: forms.map((form) => indexDocument(form, now)),
      removed: [...entities.values()].flatMap(removedForm),
    };
  };
}

function removedForm({ id, parent, published }: Entity): RemovedForm[] {
  return published?.removal === undefined
    ? []
    : [{ id, parentId: parent.id, revision: String(published.revision) }];
}

function isIndexed(entity: Entity, form: Form): boolean {
  return form === 'draft'
    ? entity.draft !== null
    : entity.published !== null && entity.published.removal === undefined;
}

function indexDocument({ entity, form, face, json }: RenderedForm, now: Date): IndexDocument {
  return {
    id: entity.id,
    parentId: entity.parent.id,
    form: FORM_NAMES[form],
    revision: String(face.revision),
    json,
    ownerId: entity.parent.ownerId,
    recordAccess: effectiveAccess(face.document.access, now).record,
    versionIndex: entity.versionIndex,
    isLatest: isLatest(entity),
    isLatestDraft: entity.versionIndex === entity.lastIndex,
    hasDraft: entity.draft !== null,
    createdAt: timestamp(face.createdAt),
    updatedAt: timestamp(face.updatedAt),
  };
}

function timestamp(at: Date): { seconds: string; nanos: number } {
  const ms = at.getTime();
  return { seconds: String(Math.floor(ms / 1_000)), nanos: (((ms % 1_000) + 1_000) % 1_000) * 1_000_000 };
}
