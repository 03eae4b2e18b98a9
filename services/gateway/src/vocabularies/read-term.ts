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
    return { ...json(200, termJson(term, type, call.baseUrl)), revision: '1' };
  };
}
