import { type EntityAction, isAction } from '@kr/access-policy';
import { signTicket, type TicketAudience } from '@kr/caller';
import type { AuthoriseRequest__Output, AuthoriseResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { getEntity, type LifecycleContext, notFound, requirePublished } from '../context/context.ts';
import { assertAllowedOn, assertUnlocked } from '../model/access.ts';
import type { Entity, EntityForm, Form } from '../model/entity.ts';
import { findPreviousVersion } from '../store/entities.ts';
import { formOf } from './read-entities.ts';

export const TICKET_LIFETIME_MS = 60_000;

/** Where the work of an action is done, and whether it changes the draft. */
const ELSEWHERE: Partial<Record<EntityAction, { audience: TicketAudience; isWrite: boolean }>> = {
  read_files: { audience: 'files', isWrite: false },
  read_draft_files: { audience: 'files', isWrite: false },
  write_files: { audience: 'files', isWrite: true },
  import_files: { audience: 'files', isWrite: true },
  manage_links: { audience: 'access-links', isWrite: false },
};

/**
 * RPC Authorise: decides about an action that another service executes and signs a ticket for it.
 *
 * @throws ServiceError - `not_found`: no such entity or form; nothing to import from - `unauthenticated`,
 * `forbidden`: not allowed - `conflict` (`draft_locked`): a write to a draft that is being published -
 * `invalid`: no such action
 */
export function authoriseAction(context: LifecycleContext) {
  const { ticketKeys } = context;
  return async (
    request: AuthoriseRequest__Output,
    { principal }: CallContext,
  ): Promise<AuthoriseResponse> => {
    const entity = await getEntity(context, request.id);
    const form = formOf(request.form);
    const action = actionOn(request.action, form);
    const work = ELSEWHERE[action];
    const now = context.now();
    const content = formFor(entity, form, work?.audience);
    assertAllowedOn(principal, action, entity, content, now);
    if (work?.isWrite === true && entity.draft !== null) assertUnlocked(entity.draft);

    const sourceEntityId =
      action === 'import_files'
        ? await findPreviousVersion(context.database, entity.parent.id, entity.versionIndex)
        : null;
    if (sourceEntityId === undefined) throw notFound();
    const { files } = content.document;
    const ticket =
      work === undefined
        ? ''
        : signTicket(
            {
              audience: work.audience,
              entityId: entity.id,
              parentId: entity.parent.id,
              form,
              // The ticket names the form, so one action is enough to read the files of either.
              actions: [action === 'read_draft_files' ? 'read_files' : action],
              sourceEntityId,
              ownerId: entity.parent.ownerId,
              managedBy: entity.parent.managedBy,
              userId: principal.userId,
              expiresAt: now.getTime() + TICKET_LIFETIME_MS,
            },
            ticketKeys[work.audience],
          );
    return {
      ticket,
      parentId: entity.parent.id,
      filesEnabled: files.enabled,
      defaultPreview: files.default_preview ?? '',
      order: [...files.order],
    };
  };
}

function actionOn(name: string, form: Form): EntityAction {
  const isOnEntity = (action: string): action is EntityAction =>
    isAction(action) && !['search', 'create', 'list_own', 'list_removals'].includes(action);
  if (!isOnEntity(name)) throw new ServiceError('invalid', `There is no action '${name}'.`);
  return name === 'read_files' && form === 'draft' ? 'read_draft_files' : name;
}

/** Links belong to the parent: any form that is there will do. */
function formFor(entity: Entity, form: Form, audience: TicketAudience | undefined): EntityForm {
  const content = audience === 'access-links' ? (entity.published ?? entity.draft) : entity[form];
  if (content === null) throw notFound();
  return content === entity.published && audience !== 'access-links' ? requirePublished(entity) : content;
}
