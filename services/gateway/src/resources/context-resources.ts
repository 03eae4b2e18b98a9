import { ServiceError } from '@kr/service-error';
import type { Clients } from '../clients.ts';
import { type Endpoint, noContent, param } from '../http/endpoint.ts';
import { invalidInput, isObject } from '../http/json-object.ts';
import { findEntities, unsentEventsOf } from '../search/find-entities.ts';
import type { PageLimits } from '../search/page-links.ts';
import { readSearchQuery } from '../search/search-query.ts';
import { checkedBody, idListBody } from './id-list-body.ts';

/** POST /api/packages/{id}/context/actions/associate: all the resources or none. */
export function associate(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.associate({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'records'),
      () => change([]),
    );
    await change(ids);
    return noContent();
  };
}

/** POST /api/packages/{id}/context/actions/dissociate: all the resources or none. */
export function dissociate(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.dissociate({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'records'),
      () => change([]),
    );
    await change(ids);
    return noContent();
  };
}

/** GET /api/packages/context/{parentId}/resources: the resources of a package's context that the caller may read. */
export function listContextResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    const managed = await clients.packages.listContextResources(
      { packageParentId: param(call, 'parentId') },
      call.principal,
      { signal: call.signal },
    );
    return findEntities(
      clients,
      {
        listing: 'LISTING_CONTEXT_RESOURCES',
        kinds: ['record'],
        onlyIds: managed.ids,
        publishedIds: managed.publishedIds,
        ...unsentEventsOf('record', managed),
      },
      { ...query, allVersions: true },
      call,
    );
  };
}

/** PUT /api/packages/{id}/context: the settings of the context. */
export function updateContext(clients: Clients): Endpoint {
  return async (call) => {
    const change = (recordPolicy: string) =>
      clients.packages.updateContext({ packageId: param(call, 'id'), recordPolicy }, call.principal);
    const recordPolicy = await checkedBody(
      () => readPolicy(call.body),
      () => change(''),
    );
    await change(recordPolicy);
    return noContent();
  };
}

/** @throws ServiceError `invalid`: not `{"access": {"record_policy": "open" | "closed"}}` */
function readPolicy(body: unknown): 'open' | 'closed' {
  if (!isObject(body)) throw invalidInput();
  const { access } = body;
  if (access === undefined) throw refused('access', 'Missing data for required field.');
  if (!isObject(access)) throw invalidInput('access._schema');
  const { record_policy: policy } = access;
  if (policy === undefined) throw refused('access.record_policy', 'Missing data for required field.');
  if (policy !== 'open' && policy !== 'closed') {
    throw refused('access.record_policy', 'Must be one of: open, closed.');
  }
  return policy;
}

function refused(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
