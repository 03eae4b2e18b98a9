import { PUBLISH_TIMEOUT_FACTOR } from '../config.ts';
import { documentIn, type EntityDeps, entityReply, readEntity } from '../entity-deps.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { draftToChange } from './draft-to-change.ts';

export const SUBJECT = { record: 'SUBJECT_RECORD', package: 'SUBJECT_PACKAGE' } as const;

/**
 * POST /api/{kind}/{id}/draft/actions/publish: 202 with the published entity. A package takes its resource drafts
 * along: all or nothing.
 */
export function publishDraft(deps: EntityDeps): Endpoint {
  return async (call) => {
    const { id, ifRevision } = await draftToChange(deps, call);
    const wish = { subject: SUBJECT[deps.kind], id, ifRevision };
    const options = { times: PUBLISH_TIMEOUT_FACTOR };
    const { published } = await deps.clients.publications.publish(wish, call.principal, options);
    const document = published ? documentIn(published) : await readEntity(deps, id, 'FORM_PUBLISHED', call);
    return entityReply(202, document, deps, call);
  };
}
