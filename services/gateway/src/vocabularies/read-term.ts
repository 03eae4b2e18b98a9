import { createHash } from 'node:crypto';
import { isAddition, lookup } from '@kr/metadata';
import { ServiceError } from '@kr/service-error';
import { type Endpoint, json, param } from '../http/endpoint.ts';
import { termJson } from './term-json.ts';
import { vocabularyOf } from './vocabulary-of.ts';

const digest = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16);

/** GET /api/vocabularies/{type}/{id} */
export function readTerm(): Endpoint {
  return async (call) => {
    const type = vocabularyOf(call);
    const term = lookup(type, param(call, 'id'));
    if (term === undefined) {
      throw new ServiceError('not_found', 'The persistent identifier does not exist.');
    }
    // Those of a release keep the one revision that they have; an operator's may change at any time.
    const variant = isAddition(type, term.id) ? digest(JSON.stringify(term)) : '';
    return { ...json(200, termJson(term, type, call.baseUrl)), state: { revision: '1', variant } };
  };
}
