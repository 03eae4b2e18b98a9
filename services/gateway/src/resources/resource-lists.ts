import type { Clients } from '../clients.ts';
import { type Endpoint, json, noContent, param } from '../http/endpoint.ts';
import { findEntities, unsentEventsOf } from '../search/find-entities.ts';
import type { PageLimits } from '../search/page-links.ts';
import { readSearchQuery } from '../search/search-query.ts';
import { checkedBody, idListBody } from './id-list-body.ts';

/**
 * POST /api/packages/{id}/draft/resources: 200; `errors` lists the resources that were not added, with the
 * reason.
 */
export function addResources(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.addResources({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'resources'),
      () => change([]),
    );
    const { errors } = await change(ids);
    return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
  };
}

/** POST /api/packages/{id}/draft/actions/resources-import: the draft gets the resources of the previous version. */
export function importResources(clients: Clients): Endpoint {
  return async (call) => {
    await clients.packages.importResources({ packageId: param(call, 'id') }, call.principal);
    return noContent();
  };
}

/** GET /api/packages/{id}/draft/resources: the resources of a package version that the caller may read. */
export function listDraftResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    const held = await clients.packages.listResources(
      { packageId: param(call, 'id'), asDraft: true },
      call.principal,
      { signal: call.signal },
    );
    return findEntities(
      clients,
      {
        listing: 'LISTING_DRAFT_RESOURCES',
        kinds: ['record'],
        onlyIds: held.ids,
        ...unsentEventsOf('package', held),
      },
      { ...query, allVersions: true },
      call,
    );
  };
}

/** GET /api/packages/{id}/resources: the published resources of a package version that the caller may read. */
export function listPackageResources(clients: Clients, limits: PageLimits): Endpoint {
  return async (call) => {
    const query = readSearchQuery(call.query, limits);
    const held = await clients.packages.listResources({ packageId: param(call, 'id') }, call.principal, {
      signal: call.signal,
    });
    // A version keeps its resources, also when they have later versions.
    return findEntities(
      clients,
      {
        listing: 'LISTING_PACKAGE_RESOURCES',
        kinds: ['record'],
        onlyIds: held.ids,
        // Those of a draft version may be drafts, of which the index has no published form.
        publishedIds: held.isPublished ? held.ids : [],
        ...unsentEventsOf('package', held),
      },
      query,
      call,
    );
  };
}

/**
 * DELETE /api/packages/{id}/draft/resources: 200; `errors` lists the resources that were not removed, with
 * the reason.
 */
export function removeResources(clients: Clients): Endpoint {
  return async (call) => {
    const change = (ids: string[]) =>
      clients.packages.removeResources({ packageId: param(call, 'id'), ids }, call.principal);
    const ids = await checkedBody(
      () => idListBody(call.body, 'resources'),
      () => change([]),
    );
    const { errors } = await change(ids);
    return json(200, { errors: errors.map(({ record, message }) => ({ record, message })) });
  };
}
