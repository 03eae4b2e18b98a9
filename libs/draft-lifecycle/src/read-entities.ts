import type {
  EntityDocument,
  EntityRef as EntityRefMessage,
  EntityResult,
  ReadEntitiesRequest__Output,
  ReadEntitiesResponse,
} from '@kr/contracts';
import { type CallContext, toErrorDetail } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { Form } from './entity.ts';
import { entityDocuments, FORM_NAMES, refKey, type Shown } from './entity-documents.ts';
import { loadWithOutbox } from './entity-store.ts';
import { draftFace, findSettled, type LifecycleContext, publishedFace } from './lifecycle-context.ts';
import { whyMissing } from './missing-entity.ts';
import { permit } from './permission.ts';

const MAX_REFS = 1_000;

/**
 * RPC ReadEntities: one statement for any number, also when it checks the outbox.
 *
 * @throws ServiceError `invalid` when there are too many refs
 */
export function readEntities(context: LifecycleContext) {
  return async (
    { refs, looksAtOutbox = false, omitJson = false }: ReadEntitiesRequest__Output,
    { principal }: CallContext,
  ): Promise<ReadEntitiesResponse> => {
    if (refs.length > MAX_REFS)
      throw new ServiceError('invalid', `Not more than ${MAX_REFS} entities at once.`);
    const asked = refs.map(({ id, form }) => ({ id, form: formOf(form) }));
    const ids = [...new Set(asked.map(({ id }) => id))];
    let hasUnsent = false;
    const load = async () => {
      const seen = await loadWithOutbox(context.database, ids, context.kind.related, context.documents);
      hasUnsent = seen.hasUnsent;
      return seen.entities;
    };
    const { entities, undecidable: unclear } = await findSettled(
      context,
      ids,
      looksAtOutbox ? load : undefined,
    );
    const missing = ids.filter((id) => !entities.has(id));
    const why = missing.length === 0 ? undefined : await whyMissing(context, missing);
    const now = context.now();

    const outcomes = asked.map(({ id, form }): Shown | ServiceError => {
      const entity = entities.get(id);
      if (entity === undefined) return why?.(id) ?? new ServiceError('internal', 'Internal server error.');
      const doubt = unclear.get(id);
      if (doubt !== undefined) return doubt;
      return attempt(() => {
        if (form === 'published') permit(principal, 'read', entity, publishedFace(entity), now);
        else permit(principal, 'read_draft', entity, draftFace(entity), now);
        return { entity, form };
      });
    });
    const shown = outcomes.filter((outcome): outcome is Shown => !(outcome instanceof ServiceError));
    const documents = omitJson ? shown.map(documentHead) : await entityDocuments(context, shown, principal);
    const byKey = new Map(
      shown.map(({ entity, form }, at) => [refKey({ id: entity.id, form }), documents[at]]),
    );

    const results = asked.map((ref, at): EntityResult => {
      const message: EntityRefMessage = { id: ref.id, form: FORM_NAMES[ref.form] };
      const outcome = outcomes[at];
      return outcome instanceof ServiceError
        ? { ref: message, error: toErrorDetail(outcome) }
        : { ref: message, document: byKey.get(refKey(ref)) ?? null };
    });
    return { results, hasUnsent };
  };
}

function documentHead({ entity, form }: Shown): EntityDocument {
  const { id, parent } = entity;
  return { id, parentId: parent.id, form: FORM_NAMES[form], revision: String(entity[form]?.revision ?? 0) };
}

/** The form of a message; the default is the published one. */
export function formOf(name: string): Form {
  return name === FORM_NAMES.draft ? 'draft' : 'published';
}

function attempt<Value>(run: () => Value): Value | ServiceError {
  try {
    return run();
  } catch (thrown) {
    return ServiceError.from(thrown);
  }
}
