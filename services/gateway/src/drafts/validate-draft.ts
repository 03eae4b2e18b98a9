import type { EntityDeps } from '../entity-deps.ts';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { SUBJECT } from './publish-draft.ts';

/** A package may bring many resources along. */
const TIMES = 6;

/**
 * POST /api/{kind}/{id}/draft/actions/validate: 200 with what publishing would refuse, by entity; nothing changes.
 */
export function validateDraft({ kind, clients }: EntityDeps): Endpoint {
  return async (call) => {
    const { problems } = await clients.publications.validate(
      { subject: SUBJECT[kind], id: param(call, 'id') },
      call.principal,
      { times: TIMES },
    );
    return json(200, {
      errors: problems.map(({ id, issues }) => ({
        record: id,
        message: "The record can't be published",
        errors: issues.map(({ field, messages }) => ({ field, messages })),
      })),
    });
  };
}
