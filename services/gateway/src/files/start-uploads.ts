import type { NewEntry } from '@kr/contracts';
import { type Issue, ServiceError } from '@kr/service-error';
import { created, type Endpoint } from '../http/endpoint.ts';
import { invalidInput, isObject } from '../http/json-object.ts';
import { fileListJson } from '../rendering/file-json.ts';
import { authoriseEnabledFiles, type FilesDeps, fileHolder } from './authorise-files.ts';

/** POST /api/{kind}/{id}/draft/files: 201 with all files, the new ones pending. */
export function startUploads(deps: FilesDeps): Endpoint {
  return async (call) => {
    const authorised = await authoriseEnabledFiles(deps, 'write', call);
    const { entries } = await deps.clients.files.startUploads(
      { ticket: authorised.ticket, entries: newEntries(call.body) },
      call.principal,
    );
    return created(fileListJson(authorised, entries, fileHolder(deps, call)));
  };
}

/** @throws ServiceError `invalid`: not a list of objects with a key each */
function newEntries(body: unknown): NewEntry[] {
  if (body === undefined || body === null) return [];
  if (!Array.isArray(body)) throw invalidInput();
  const issues: Issue[] = [];
  const entries = body.map((item: unknown, index): NewEntry => {
    if (!isObject(item)) {
      issues.push({ field: `${index}._schema`, messages: ['Invalid input type.'] });
      return {};
    }
    const { key, ...rest } = item;
    if (typeof key !== 'string') {
      issues.push({ field: `${index}.key`, messages: [keyMessage(key)] });
      return {};
    }
    const hasMore = Object.keys(rest).length > 0;
    return { key, metadataJson: hasMore ? Buffer.from(JSON.stringify(rest)) : Buffer.alloc(0) };
  });
  if (issues.length > 0) throw new ServiceError('invalid', 'A validation error occurred.', { issues });
  return entries;
}

function keyMessage(key: unknown): string {
  if (key === undefined) return 'Missing data for required field.';
  return key === null ? 'Field may not be null.' : 'Not a valid string.';
}
