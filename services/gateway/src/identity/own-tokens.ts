import { authorise } from '@kr/access-policy';
import { isScope, SCOPES, type Scope } from '@kr/caller';
import { parseInstant } from '@kr/instant';
import { type Issue, ServiceError } from '@kr/service-error';
import { isObject } from '../http/body.ts';
import { type Call, created, json, noContent, param } from '../http/endpoint.ts';
import { assertValid, invalid } from '../http/invalid.ts';
import type { Operation } from '../http/route.ts';
import { mintToken, tokenHash } from './access-token.ts';
import { type OwnToken, TOKEN_ID, type TokenStore } from './token-store.ts';

export interface TokensDeps {
  tokens: TokenStore;
  limits: { tokensPerUser: number; tokenLifetimeDays: number };
  now: () => Date;
  newId: () => string;
}

export function tokenRoutes({ tokens, limits, now, newId }: TokensDeps): Operation[] {
  const all = '/api/user/tokens';
  return [
    {
      method: 'GET',
      path: all,
      operationId: 'listTokens',
      summary: "The caller's access tokens that were not revoked, the youngest first.",
      responses: { 200: 'OwnTokens' },
      errors: [403],
      handler: async (call) => {
        const own = await tokens.tokensOf(userOf(call));
        return json(200, {
          hits: { hits: own.map((token) => tokenJson(token, call)), total: own.length },
          links: { self: `${call.baseUrl}/api/user/tokens` },
        });
      },
    },
    {
      method: 'POST',
      path: all,
      body: 'json',
      changes: [],
      operationId: 'createToken',
      summary:
        'Creates an access token. The token is returned only once. Its scopes cannot exceed those of the calling token.',
      requestBody: 'NewToken',
      responses: { 201: 'NewToken' },
      errors: [400, 403],
      handler: async (call) => {
        const userId = userOf(call);
        const createdAt = now();
        const { scopes } = call.principal;
        const request = createTokenRequest(call.body, {
          now: createdAt,
          lifetimeDays: limits.tokenLifetimeDays,
          scopes,
        });
        const token = mintToken();
        const row = { ...request, id: newId(), hash: tokenHash(token), createdAt };
        if (!(await tokens.addToken(userId, row, limits.tokensPerUser))) {
          throw new ServiceError(
            'invalid',
            `A user may have at most ${limits.tokensPerUser} tokens; revoke one.`,
            {
              code: 'too_many_tokens',
            },
          );
        }
        return created({ ...tokenJson({ ...row, lastUsedAt: null }, call), token });
      },
    },
    {
      method: 'DELETE',
      path: `${all}/:tokenId`,
      changes: [],
      operationId: 'revokeToken',
      summary: 'Revokes an access token at once.',
      responses: { 204: 'Done' },
      errors: [403, 404],
      handler: async (call) => {
        const [userId, id] = [userOf(call), param(call, 'tokenId')];
        if (!TOKEN_ID.test(id) || !(await tokens.revoke(userId, id, now()))) {
          throw new ServiceError('not_found', 'No such token.');
        }
        return noContent();
      },
    },
  ];
}

/** The properties of a new token. */
interface CreateTokenRequest {
  name: string;
  scopes: readonly Scope[];
  /** Null: never. */
  expiresAt: Date | null;
}

interface TokenRules {
  now: Date;
  /** The default lifetime of a token, in days. */
  lifetimeDays: number;
  /** The scopes of the token that creates it; a new one cannot have more. */
  scopes: readonly Scope[];
}

const DAY_MS = 86_400_000;
const NAME_LENGTH = 100;
const DEFAULT_SCOPES: readonly Scope[] = ['write', 'publish'];

/**
 * The body of POST /api/user/tokens: `{name, scopes?, expires_at?}`.
 *
 * @throws ServiceError `invalid`, with everything that is wrong
 */
function createTokenRequest(body: unknown, rules: TokenRules): CreateTokenRequest {
  if (!isObject(body)) throw invalid('_schema', 'Invalid input type.');
  const issues: Issue[] = [];
  const request = {
    name: checkName(body['name'], issues),
    scopes: checkScopes(body['scopes'], rules, issues),
    expiresAt: checkExpiry(body['expires_at'], rules, issues),
  };
  for (const field of Object.keys(body))
    if (!['name', 'scopes', 'expires_at'].includes(field)) report(issues, field, 'Unknown field.');
  assertValid(issues);
  return request;
}

function checkName(value: unknown, issues: Issue[]): string {
  if (typeof value === 'string') {
    const name = value.trim();
    if (name.length >= 1 && name.length <= NAME_LENGTH && !/\p{Cc}/u.test(name)) return name;
  }
  report(
    issues,
    'name',
    `A name of 1 to ${NAME_LENGTH} characters is required, none of them a control character.`,
  );
  return '';
}

function checkScopes(value: unknown, { scopes: own }: TokenRules, issues: Issue[]): Scope[] {
  if (value === undefined) return DEFAULT_SCOPES.filter((scope) => own.includes(scope));
  if (!Array.isArray(value)) {
    report(issues, 'scopes', 'Not a valid list.');
    return [];
  }
  for (const [at, scope] of value.entries()) {
    if (!isScope(scope)) report(issues, `scopes.${at}`, `Must be one of: ${SCOPES.join(', ')}.`);
    else if (!own.includes(scope))
      report(issues, `scopes.${at}`, 'The token of this request lacks the scope.');
  }
  return SCOPES.filter((scope) => value.includes(scope));
}

function checkExpiry(value: unknown, { now, lifetimeDays }: TokenRules, issues: Issue[]): Date | null {
  if (value === undefined) return new Date(now.getTime() + lifetimeDays * DAY_MS);
  if (value === null) return null;
  const instant = typeof value === 'string' ? parseInstant(value) : undefined;
  if (instant === undefined) report(issues, 'expires_at', 'Not a valid datetime.');
  else if (instant <= now) report(issues, 'expires_at', 'Expiration date must be set to the future');
  return instant ?? null;
}

function report(issues: Issue[], field: string, message: string): void {
  issues.push({ field, messages: [message] });
}

/** @throws ServiceError `unauthenticated`: anonymous; `forbidden`: the token lacks the scope */
function userOf({ principal }: Call): number {
  authorise(principal, 'manage_tokens', null);
  return Number(principal.userId);
}

function tokenJson({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: OwnToken, { baseUrl }: Call) {
  return {
    id,
    name,
    scopes,
    created: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    last_used: lastUsedAt?.toISOString() ?? null,
    links: { self: `${baseUrl}/api/user/tokens/${id}` },
  };
}
