/**
 * What an access token lets its bearer do in the user's name. Every token reads what its user may read; what changes
 * something takes one of these. Which action takes which is `SCOPE_OF` of the access policy.
 */
export const SCOPES = ['write', 'publish', 'tokens', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Whether a word, such as one that a client sent, names a scope. */
export function isScope(word: unknown): word is Scope {
  return SCOPES.some((scope) => scope === word);
}
