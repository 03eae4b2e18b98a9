import type { Sent } from '../e2e/story/http-client.ts';
import { type Caller, hasCredentials } from './callers.ts';
import { NO_CREDENTIALS, refusal } from './expectation.ts';
import { documentOf, newWord } from './places.ts';

/** A route that is about no entity in particular. */
export interface SiteRoute {
  /** The requested path, if it differs from that of the document. */
  target?: string;
  sends?: () => Sent;
  expected: (caller: Caller) => string;
}

const always =
  (answer: string): SiteRoute['expected'] =>
  () =>
    answer;

const created =
  (answer: string, action: 'create' | 'manage_tokens'): SiteRoute['expected'] =>
  (caller) =>
    hasCredentials(caller) ? (refusal(caller, action, undefined) ?? answer) : NO_CREDENTIALS;

const creates = (collection: 'records' | 'packages'): SiteRoute => ({
  sends: () => ({ json: documentOf(collection, newWord(), 'public') }),
  expected: created('201', 'create'),
});

const removals: SiteRoute = { expected: always('200') };

/** `tokenId` is of a token of the owner. */
export const SITE_ROUTES: Readonly<Record<string, SiteRoute>> = {
  'GET /': { expected: always('200') },
  'GET /api/ping': { expected: always('200') },
  'GET /api/openapi.json': { expected: always('200') },
  'GET /api/openapi.yaml': { expected: always('200') },
  'GET /api/vocabularies': { target: '/api/vocabularies', expected: always('200') },
  'GET /api/vocabularies/{type}': { target: '/api/vocabularies/resourcetypes', expected: always('200') },
  'GET /api/vocabularies/{type}/{termId}': {
    target: '/api/vocabularies/resourcetypes/dataset',
    expected: always('200'),
  },
  'GET /api/search/suggest': { target: '/api/search/suggest?q=a', expected: always('200') },
  'GET /api/user': { expected: ({ user }) => (user === undefined ? NO_CREDENTIALS : '200') },
  'GET /api/user/tokens': { expected: created('200', 'manage_tokens') },
  'POST /api/user/tokens': {
    sends: () => ({ json: { name: newWord(), scopes: [] } }),
    expected: created('201', 'manage_tokens'),
  },
  'DELETE /api/user/tokens/{tokenId}': {
    expected: (caller) => {
      const answer = created('204', 'manage_tokens')(caller);
      return answer === '204' && caller.user !== 'owner' ? '404 No such token.' : answer;
    },
  },
  'GET /api/records/removed': removals,
  'GET /api/packages/removed': removals,
  'POST /api/records': creates('records'),
  'POST /api/packages': creates('packages'),
};
