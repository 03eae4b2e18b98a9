import { vocabularyTypes } from '@kr/metadata';
import { type Endpoint, json } from '../http/endpoint.ts';

/** GET /api/vocabularies: the types that there are, each with its address. */
export function listVocabularies(): Endpoint {
  const types = vocabularyTypes();
  return async ({ baseUrl }) =>
    json(200, {
      hits: {
        hits: types.map((id) => ({ id, links: { self: `${baseUrl}/api/vocabularies/${id}` } })),
        total: types.length,
      },
      links: { self: `${baseUrl}/api/vocabularies` },
    });
}
