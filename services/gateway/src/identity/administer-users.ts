import { SCOPES } from '@kr/caller';
import type { Definitions, User as UserMessage } from '@kr/contracts';
import type { CallContext, Handlers } from '@kr/rpc';
import { type Issue, ServiceError } from '@kr/service-error';
import { assertValid } from '../http/invalid.ts';
import { mintToken, tokenHash } from './access-token.ts';
import { TOKEN_ID, type TokenStore } from './token-store.ts';
import type { ListedUser, Operator, UserAdministrationStore } from './user-administration-store.ts';

const NAME = /^[A-Za-z0-9._@-]{1,64}$/;
const DAY_MS = 86_400_000;
const DEFAULT_LIFETIME_MS = 365 * DAY_MS;
const MAX_LIFETIME_MS = 36_500 * DAY_MS;
const MAX_ID = 2 ** 31 - 1;
const PAGE = 1_000;

interface AdministerUsersDeps {
  users: UserAdministrationStore;
  tokens: Pick<TokenStore, 'tokensOf'>;
  now: () => Date;
  newId: () => string;
}

/**
 * The RPCs of the IdentityService.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is not a service
 *   - `invalid`: a field breaks a rule of the contract
 *   - `not_found`, `conflict`: see `UserAdministrationStore`
 */
export function administerUsers({
  users,
  tokens,
  now,
  newId,
}: AdministerUsersDeps): Omit<Handlers<Definitions['identity']>, 'FindUser'> {
  return {
    CreateUser: async ({ name, isAdmin, addsToken, tokenLifetimeMs }, call) => {
      const operator = operatorOf(call);
      const lifetimeMs = tokenLifetimeMs === undefined ? DEFAULT_LIFETIME_MS : Number(tokenLifetimeMs);
      assertValid([
        ...nameIssues(name),
        ...rule(
          'token_lifetime_ms',
          lifetimeMs >= 0 && lifetimeMs <= MAX_LIFETIME_MS,
          'Use 0 to 36500 days.',
        ),
      ]);
      const token = mintToken();
      const createdAt = now();
      const row = {
        id: newId(),
        name: 'made by an operator',
        scopes: SCOPES.filter((scope) => scope !== 'admin' || isAdmin),
        hash: tokenHash(token),
        createdAt,
        expiresAt: lifetimeMs === 0 ? null : new Date(createdAt.getTime() + lifetimeMs),
      };
      const user = await users.create({ name, isAdmin, addsToken }, row, operator);
      return {
        userId: String(user.id),
        name: user.name,
        isAdmin: user.isAdmin,
        token,
        tokenId: row.id,
        tokenExpiresAt: instant(row.expiresAt),
      };
    },
    ListUsers: async ({ afterId, limit }, call) => {
      operatorOf(call);
      assertValid([
        ...rule('after_id', /^\d{0,10}$/.test(afterId) && Number(afterId) <= MAX_ID, 'Not the id of a user.'),
        ...limitIssues(limit),
      ]);
      return { users: (await users.list(Number(afterId), limit)).map(userMessage) };
    },
    SetUserDisabled: async ({ name, isDisabled }, call) => {
      const operator = operatorOf(call);
      assertValid(nameIssues(name));
      return { user: userMessage(await users.setDisabled(name, isDisabled, now(), operator)) };
    },
    ListTokens: async ({ name }, call) => {
      operatorOf(call);
      assertValid(nameIssues(name));
      const rows = await tokens.tokensOf((await users.find(name)).id);
      return {
        tokens: rows.slice(0, PAGE).map(({ createdAt, expiresAt, lastUsedAt, scopes, ...token }) => ({
          ...token,
          scopes: [...scopes],
          createdAt: instant(createdAt),
          expiresAt: instant(expiresAt),
          lastUsedAt: instant(lastUsedAt),
        })),
      };
    },
    RevokeTokens: async ({ name, tokenIds }, call) => {
      const operator = operatorOf(call);
      assertValid([
        ...nameIssues(name),
        ...rule('token_ids', tokenIds.length <= PAGE, `Use up to ${PAGE} ids.`),
        ...tokenIds
          .slice(0, PAGE)
          .flatMap((id, at) => rule(`token_ids.${at}`, TOKEN_ID.test(id), 'Not the id of a token.')),
      ]);
      const ids = tokenIds.length === 0 ? 'all' : [...new Set(tokenIds)];
      return { tokenIds: await users.revoke(name, ids, now(), operator) };
    },
    ReadUserAuditLog: async ({ name, limit }, call) => {
      operatorOf(call);
      assertValid([...nameIssues(name), ...limitIssues(limit)]);
      const entries = await users.auditLog(name, limit);
      return {
        entries: entries.map(({ createdAt, action, service, requestId, metadata }) => ({
          createdAt: instant(createdAt),
          action,
          service,
          requestId,
          metadata: JSON.stringify(metadata),
        })),
      };
    },
  };
}

function operatorOf({ principal: { service, requestId } }: CallContext): Operator {
  if (service === null) throw new ServiceError('forbidden', 'Permission denied.');
  return { service, requestId };
}

function nameIssues(name: string): Issue[] {
  return rule('name', NAME.test(name), 'Use 1 to 64 letters, digits or any of . _ - @');
}

function limitIssues(limit: number): Issue[] {
  return rule('limit', limit >= 1 && limit <= PAGE, `Use 1 to ${PAGE}.`);
}

function rule(field: string, isValid: boolean, message: string): Issue[] {
  return isValid ? [] : [{ field, messages: [message] }];
}

function userMessage({ id, name, isAdmin, createdAt, disabledAt, issuer }: ListedUser): UserMessage {
  return {
    id: String(id),
    name,
    isAdmin,
    createdAt: instant(createdAt),
    disabledAt: instant(disabledAt),
    issuer: issuer ?? '',
  };
}

function instant(time: Date | null): string {
  return time?.toISOString() ?? '';
}
