import type { EntityDocument__Output, EntityResult__Output, Form } from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import type { Clients } from './clients.ts';
import { assertDemanded, demandedRevisions } from './http/conditional.ts';
import { type Call, type JsonReply, selfOf } from './http/endpoint.ts';
import type { Kind } from './kind.ts';
import { entityJson } from './rendering/entity-json.ts';

/** What the endpoints that both kinds share are given: for which kind, and whom to ask. */
export interface EntityDeps {
  kind: Kind;
  clients: Clients;
}

/**
 * One entity in one form, as the caller may see it.
 *
 * @throws ServiceError whatever kept its service from giving it
 */
export async function readEntity(
  { kind, clients }: EntityDeps,
  id: string,
  form: Form,
  { principal, signal }: Call,
): Promise<EntityDocument__Output> {
  const { results } = await clients.lifecycle[kind].readEntities({ refs: [{ id, form }] }, principal, {
    signal,
  });
  return documentIn(results[0]);
}

/**
 * The revision at which an entity is to be when it is changed, as If-Match says (0: any). Of several that are named it
 * is the one that the entity has now.
 *
 * @throws ServiceError `invalid`: If-Match is no revision; `precondition_failed`: the entity has none of several; or
 *   whatever keeps it from being read
 */
export async function revisionToChange(
  deps: EntityDeps,
  id: string,
  form: Form,
  call: Call,
): Promise<string> {
  const ifMatch = call.headers['if-match'];
  const demanded = demandedRevisions(ifMatch);
  if (demanded.length <= 1) return demanded[0] ?? '0';
  const { revision } = await readEntity(deps, id, form, call);
  assertDemanded(ifMatch, revision);
  return revision;
}

/** @throws ServiceError what a service says instead of an entity */
export function documentIn(result: EntityResult__Output | undefined): EntityDocument__Output {
  if (result?.error) throw fromErrorDetail(result.error);
  return given(result?.document);
}

/** An answer that shows one entity. */
export function entityReply(
  status: number,
  document: EntityDocument__Output | null | undefined,
  { kind }: Pick<EntityDeps, 'kind'>,
  { baseUrl, query }: Call,
): JsonReply {
  const shown = given(document);
  const body = entityJson(shown, kind, baseUrl);
  return {
    as: 'json',
    status,
    body: isTrue(query.get('expand')) ? { ...body, expanded: {} } : body,
    ...(status === 201 ? { location: selfOf(body) } : {}),
    state: { revision: shown.revision, variant: shown.variant },
    ...(shown.isPublic && shown.form === 'FORM_PUBLISHED' ? { publicOf: shown.parentId } : {}),
  };
}

function given(document: EntityDocument__Output | null | undefined): EntityDocument__Output {
  if (!document) throw new Error('a service answered without the document it promised');
  return document;
}

function isTrue(text: string | null): boolean {
  return text !== null && /^(?:1|t|true|y|yes|on)$/i.test(text);
}
