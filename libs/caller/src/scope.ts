/**
 * Permissions of an access token. Every token can read everything its user can read; changes require one of these scopes.
 * `SCOPE_OF` of the access policy maps actions to scopes.
 */
export const SCOPES = ['write', 'publish', 'tokens', 'admin'] as const;

export type Scope = (typeof SCOPES)[number];

/** Whether a word, such as one that a client sent, names a scope. */
export function isScope(word: unknown): word is Scope {
  return SCOPES.some((scope) => scope === word);
}
