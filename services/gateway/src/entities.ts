import type { EntityDocument__Output, EntityResult__Output, Form } from '@kr/contracts';
import { fromErrorDetail } from '@kr/rpc';
import type { Clients } from './clients.ts';
import { assertIfMatch, parseIfMatch } from './http/conditional.ts';
import { type Call, isTrue, type JsonReply, selfOf } from './http/endpoint.ts';
import type { Kind } from './kind.ts';
import { entityJson } from './rendering/entity-json.ts';

/** Dependencies of the endpoints that both kinds share. */
export interface EntityDeps {
  kind: Kind;
  clients: Clients;
}

/**
 * One entity in one form, as the caller may see it.
 * @throws ServiceError errors of its service
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
 * The required revision of an entity for a change, from If-Match (0: any). If several are listed, it is the entity's present one.
 * @throws ServiceError `invalid`: If-Match is no revision; `precondition_failed`: the entity has none of those listed; or the errors of
 * reading it
 */
export async function revisionToChange(
  deps: EntityDeps,
  id: string,
  form: Form,
  call: Call,
): Promise<string> {
  const ifMatch = call.headers['if-match'];
  const demanded = parseIfMatch(ifMatch);
  if (demanded.length <= 1) return demanded[0] ?? '0';
  const { revision } = await readEntity(deps, id, form, call);
  assertIfMatch(ifMatch, revision);
  return revision;
}

/** @throws ServiceError the error that a service returned for an entity */
export function documentIn(result: EntityResult__Output | undefined): EntityDocument__Output {
  if (result?.error) throw fromErrorDetail(result.error);
  return present(result?.document);
}

/** An answer that shows one entity. */
export function entityReply(
  status: number,
  document: EntityDocument__Output | null | undefined,
  { kind }: Pick<EntityDeps, 'kind'>,
  call: Call,
): JsonReply {
  const entity = present(document);
  const body = entityJson(entity, kind, call);
  return {
    as: 'json',
    status,
    body: isTrue(call.query.get('expand')) ? { ...body, expanded: {} } : body,
    ...(status === 201 ? { location: selfOf(body) } : {}),
    state: { revision: entity.revision, variant: entity.variant },
    ...(entity.isPublic && entity.form === 'FORM_PUBLISHED' ? { publicOf: entity.parentId } : {}),
  };
}

/** A message that services always set. */
export function present<Message>(message: Message | null | undefined): Message {
  if (message === null || message === undefined) throw new Error('a service answered without its message');
  return message;
}
