import { ServiceError } from '@kr/service-error';
import { type EntityDeps, entityReply, readEntity, revisionToChange } from '../entities.ts';
import { isObject } from '../http/body.ts';
import { json, noContent, param } from '../http/endpoint.ts';
import { invalid } from '../http/invalid.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { entityJson } from '../rendering/entity-json.ts';
import { type PageLimits, pageLinks, readPage } from '../rendering/page-links.ts';

/** Removal, restoration and versions of published entities. */
export function managePublishedRoutes(deps: EntityDeps, limits: PageLimits): Operation[] {
  const { kind, clients } = deps;
  const lifecycle = clients.lifecycle[kind];
  const { title, noun } = KIND_NAMES[kind];
  const all = `/api/${COLLECTION[kind]}`;
  const one = `${all}/:id`;
  return [
    {
      method: 'GET',
      path: `${all}/removed`,
      auth: 'open',
      operationId: `listRemoved${title}s`,
      summary: `The removed ${noun}s, the latest first: public ones, or all for administrators.`,
      parameters: ['size', 'page'],
      responses: { 200: 'Removals' },
      errors: [400],
      handler: async (call) => {
        const { query, principal, signal } = call;
        const page = readPage(query, limits);
        const { total, removals } = await lifecycle.listRemovals(page, principal, { signal });
        const hits = removals.map(({ id, reason, note, removedBy, removedAt, citation, purgedAt }) => ({
          id,
          tombstone: {
            removal_reason: { id: reason },
            note,
            removed_by: { user: removedBy },
            removal_date: removedAt,
            citation_text: citation,
            is_visible: true,
          },
          files_deleted: purgedAt === '' ? null : purgedAt,
        }));
        return json(200, { hits: { hits, total } });
      },
    },
    {
      method: 'DELETE',
      path: one,
      body: 'json',
      changes: ['published', 'index'],
      operationId: `delete${title}`,
      summary: `Removes a published ${noun}; for administrators.`,
      description:
        'Reads answer 410 with a tombstone from then on, and searches do not find it. It can be restored until its files are deleted, after the retention that the operator has set (30 days).',
      requestBody: 'Removal',
      responses: { 204: 'Removed' },
      errors: [400, 403, 404, 410],
      handler: async (call) => {
        const id = param(call, 'id');
        if (!call.principal.isAdmin) {
          await readEntity(deps, id, 'FORM_PUBLISHED', call);
          throw new ServiceError('forbidden', 'Permission denied.', {
            members: { hint: 'Published entities cannot be deleted; an administrator can remove them.' },
          });
        }
        await lifecycle.removePublished({ id, ...removal(call.body) }, call.principal);
        return noContent();
      },
    },
    {
      method: 'POST',
      path: `${one}/restore`,
      produces: 'entity',
      changes: ['published', 'index'],
      operationId: `restore${title}`,
      summary: `Undoes the removal of a ${noun}; for administrators.`,
      responses: { 200: 'Entity200' },
      errors: [403, 404],
      handler: async (call) => {
        const { document } = await lifecycle.restorePublished({ id: param(call, 'id') }, call.principal);
        return entityReply(200, document, deps, call);
      },
    },
    {
      method: 'GET',
      path: `${one}/versions`,
      auth: 'open',
      operationId: `list${title}Versions`,
      summary: `The published versions of a ${noun}, newest first.`,
      parameters: ['size', 'page'],
      responses: { 200: 'PublishedListing' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const page = readPage(call.query, limits);
        const { documents, total, accessStatuses } = await lifecycle.listVersions(
          { id: param(call, 'id'), ...page },
          call.principal,
          { signal: call.signal },
        );
        return json(200, {
          hits: { hits: documents.map((document) => entityJson(document, kind, call)), total },
          aggregations: versionFacets(total, accessStatuses),
          sortBy: 'version',
          links: pageLinks(`${call.baseUrl}${call.path}`, {
            ...page,
            total,
            parameters: [['sort', 'version']],
          }),
        });
      },
    },
    {
      method: 'POST',
      path: `${one}/versions`,
      produces: 'entity',
      changes: ['published', 'index'],
      operationId: `create${title}Version`,
      summary: 'Opens the draft of the next version, or answers with the open one.',
      parameters: ['IfMatch'],
      responses: { 201: 'Entity201' },
      errors: [403, 404],
      handler: async (call) => {
        const id = param(call, 'id');
        const ifRevision = await revisionToChange(deps, id, 'FORM_PUBLISHED', call);
        const { document } = await lifecycle.createVersion({ id, ifRevision }, call.principal);
        return entityReply(201, document, deps, call);
      },
    },
    {
      method: 'GET',
      path: `${one}/versions/latest`,
      auth: 'open',
      produces: 'entity',
      operationId: `readLatest${title}`,
      summary: 'The latest published version.',
      responses: { 200: 'Entity200' },
      errors: [403, 404],
      handler: async (call) => {
        const { document } = await lifecycle.readLatest({ id: param(call, 'id') }, call.principal, {
          signal: call.signal,
        });
        return entityReply(200, document, deps, call);
      },
    },
  ];
}

const STATUS_LABELS: Readonly<Record<string, string>> = {
  open: 'Open',
  embargoed: 'Embargoed',
  restricted: 'Restricted',
  'metadata-only': 'Metadata-only',
};

interface Bucket {
  key: string;
  doc_count: number;
  label: string;
  is_selected: boolean;
}

/** The `aggregations` of a list of published versions, as those of searches: the most frequent first. */
export function versionFacets(
  total: number,
  accessStatuses: Readonly<Record<string, number>>,
): Record<string, { buckets: Bucket[]; label: string }> {
  const statuses = Object.entries(accessStatuses).map(([key, count]) =>
    bucket(key, count, STATUS_LABELS[key] ?? key),
  );
  return {
    access_status: {
      buckets: statuses.sort((a, b) => b.doc_count - a.doc_count || (a.key < b.key ? -1 : 1)),
      label: 'Access status',
    },
    is_published: { buckets: total === 0 ? [] : [bucket('true', total, 'Published')], label: 'Status' },
  };
}

function bucket(key: string, count: number, label: string): Bucket {
  return { key, doc_count: count, label, is_selected: false };
}

/** The body of a removal: `{removal_reason: {id}, note}`. */
function removal(body: unknown): { reason: string; note: string } {
  const { removal_reason: reason, note } = isObject(body) ? body : {};
  const id = isObject(reason) ? reason['id'] : undefined;
  if (note !== undefined && typeof note !== 'string') throw invalid('note', 'Invalid input type.');
  return { reason: typeof id === 'string' ? id : '', note: note ?? '' };
}
