import type { Sql } from '@kr/database';
import { ServiceError } from '@kr/service-error';
import { type ContentInput, type DraftContent, draftContent } from '../model/content.ts';
import type { JsonObject } from '../model/entity.ts';
import { externalDoi, takenDoi } from '../model/pids.ts';
import { findDoiOwners } from '../store/dois.ts';

/**
 * The content that a body gives a draft, with its problems.
 *
 * @throws ServiceError `invalid` for content that not even a draft may have
 */
export async function checkContent(sql: Sql, body: JsonObject, input: ContentInput): Promise<DraftContent> {
  const content = draftContent(body, input);
  if (content.fatal.length > 0) {
    throw new ServiceError('invalid', 'A validation error occurred.', { issues: content.fatal });
  }
  const doi = externalDoi(content.document.pids);
  if (doi === undefined) return content;
  const owners = await findDoiOwners(sql, [doi]);
  return owners.every(({ id }) => id === input.id)
    ? content
    : { ...content, issues: [...content.issues, takenDoi(doi)] };
}
