import { createHash } from 'node:crypto';
import { lookup } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { termJson } from './term-json.ts';
import { vocabularyOf } from './vocabulary-of.ts';

/** GET /api/vocabularies/{type}/{id} */
export function readTerm(): Endpoint {
  return async (call) => {
    const type = vocabularyOf(call);
    const term = lookup(type, param(call, 'id'));
    if (term === undefined) {
      throw new ServiceError('not_found', 'The persistent identifier does not exist.');
    }
    // Entries have no revisions of their own: they change with a release.
    const variant = createHash('sha256').update(JSON.stringify(term)).digest('base64url').slice(0, 16);
    return { ...json(200, termJson(term, type, call.baseUrl)), state: { revision: '1', variant } };
  };
}
