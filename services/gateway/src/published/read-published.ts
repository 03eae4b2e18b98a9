import {
  CITATION_STYLES,
  type CitationStyle,
  type Entity,
  type FileEntry,
  type Format,
  findFormat,
  isCitationStyle,
  negotiateFormat,
} from '@kr/formats';
import { ServiceError } from '@kr/service-error';
import { entityReply, readEntity } from '../entities.ts';
import { authoriseFiles, type FilesDeps, fileHolder } from '../files/authorise-files.ts';
import { WRITTEN } from '../http/accept.ts';
import { type Call, param, type TextReply } from '../http/endpoint.ts';
import { invalid } from '../http/invalid.ts';
import type { Operation } from '../http/route.ts';
import { COLLECTION, KIND_NAMES } from '../kind.ts';
import { entityJson } from '../rendering/entity-json.ts';
import { fileJson } from '../rendering/file-json.ts';
import { pageLink } from '../rendering/links.ts';

/** The document of a published entity, in all its formats. */
export function readPublishedRoutes(deps: FilesDeps): Operation[] {
  const one = `/api/${COLLECTION[deps.kind]}/:id`;
  const { title, noun } = KIND_NAMES[deps.kind];
  return [
    {
      method: 'GET',
      path: one,
      auth: 'open',
      produces: 'published',
      operationId: `read${title}`,
      summary: `A published ${noun}.`,
      responses: { 200: 'Published200' },
      errors: [403, 404],
      handler: async (call) => {
        const document = await readEntity(deps, param(call, 'id'), 'FORM_PUBLISHED', call);
        if (WRITTEN.includes(call.mediaType)) return entityReply(200, document, deps, call);
        const format = negotiateFormat(call.headers.accept ?? '', WRITTEN);
        if (format === undefined) return entityReply(200, document, deps, call);
        return exportReply(format, entityJson(document, deps.kind, call) as unknown as Entity, deps, call);
      },
    },
    {
      method: 'GET',
      path: `${one}/export/:format`,
      auth: 'open',
      produces: 'any',
      operationId: `export${title}`,
      summary: `A published ${noun} in another format.`,
      parameters: ['CitationStyle'],
      responses: { 200: 'Export' },
      errors: [400, 403, 404],
      handler: async (call) => {
        const document = await readEntity(deps, param(call, 'id'), 'FORM_PUBLISHED', call);
        const format = findFormat(param(call, 'format'));
        if (format === undefined) {
          throw new ServiceError('not_found', 'There is no such export format.', { code: 'unknown_format' });
        }
        return exportReply(format, entityJson(document, deps.kind, call) as unknown as Entity, deps, call);
      },
    },
  ];
}

async function exportReply(format: Format, entity: Entity, deps: FilesDeps, call: Call): Promise<TextReply> {
  const style = styleOf(call.query);
  const context = {
    baseUrl: call.baseUrl,
    vocabularies: call.vocabularies,
    repository: entity.metadata.publisher ?? new URL(call.baseUrl).hostname,
    files: await readableFiles(deps, call),
  };
  const [type] = format.mediaTypes;
  return {
    as: 'text',
    status: 200,
    type: format.profile === undefined ? type : `${type}; profile="${format.profile}"`,
    text: format.serialize(entity, context, { style }),
    headers: { link: pageLink('describes', deps.kind, entity.id, call.baseUrl) },
  };
}

/** @throws ServiceError `invalid`: an unknown style */
function styleOf(query: URLSearchParams): CitationStyle {
  const style = query.get('style') ?? 'harvard1';
  if (isCitationStyle(style)) return style;
  throw invalid('style', `Must be one of: ${CITATION_STYLES.join(', ')}.`);
}

/** The completed files, if this reader may download them. */
async function readableFiles(deps: FilesDeps, call: Call): Promise<FileEntry[]> {
  const { clients } = deps;
  try {
    const { ticket, filesEnabled } = await authoriseFiles(deps, 'read', call);
    if (!filesEnabled) return [];
    const { entries } = await clients.files.listEntries({ ticket }, call.principal, { signal: call.signal });
    const holder = fileHolder(deps, call);
    return entries
      .filter(({ isCompleted }) => isCompleted)
      .map((entry) => fileJson(entry, holder) as unknown as FileEntry);
  } catch (error) {
    if (error instanceof ServiceError && (error.kind === 'forbidden' || error.kind === 'unauthenticated'))
      return [];
    throw error;
  }
}
