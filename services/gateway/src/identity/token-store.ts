import { isScope, type Scope } from '@kr/caller';
import type { Database } from '../database.ts';
import type { User } from './user-store.ts';
import { withDatabase } from './user-store.ts';

/** A token's user, its scopes, and the facts that decide whether it is valid. */
export interface TokenRow {
  id: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
  revokedAt: Date | null;
  /** The hour in which it was last used. */
  lastUsedAt: Date | null;
  user: User;
  /** Since when the user is disabled; null: enabled. */
  userDisabledAt: Date | null;
}

/** A token as its user sees it. */
export interface OwnToken {
  id: string;
  name: string;
  scopes: readonly Scope[];
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
}

export interface NewToken {
  id: string;
  name: string;
  scopes: readonly Scope[];
  hash: Uint8Array<ArrayBuffer>;
  createdAt: Date;
  expiresAt: Date | null;
}

/** Personal access tokens, of which only hashes are stored. Methods throw `unavailable` while the database cannot be reached. */
export interface TokenStore {
  findToken(hash: Uint8Array<ArrayBuffer>): Promise<TokenRow | undefined>;
  markUsed(id: string, hour: Date): Promise<void>;
  /** The tokens that were not revoked, newest first. */
  tokensOf(userId: number): Promise<OwnToken[]>;
  /**
   * False, and nothing is added, when the user has the maximum number of valid tokens. Tokens that ended a month ago are
   * deleted.
   */
  addToken(userId: number, token: NewToken, maxTokens: number): Promise<boolean>;
  /** False when the user has no such token that was not revoked before. */
  revoke(userId: number, id: string, at: Date): Promise<boolean>;
}

/** The form of a token's id. */
export const TOKEN_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Milliseconds for which tokens that have ended are stored. */
const RETENTION_MS = 30 * 86_400_000;

const OWN = {
  id: true,
  name: true,
  scopes: true,
  createdAt: true,
  expiresAt: true,
  lastUsedAt: true,
} as const;

export function tokenStore(database: Database): TokenStore {
  return {
    findToken: async (hash) => {
      // One statement for every request with a token; the client would make two of it.
      const [row] = await withDatabase(
        database.$queryRaw<(Omit<TokenRow, 'scopes' | 'user'> & { scopes: string[]; user: User })[]>`
          select t.id, t.scopes, t.expires_at as "expiresAt", t.revoked_at as "revokedAt",
            t.last_used_at as "lastUsedAt", u.disabled_at as "userDisabledAt",
            json_build_object('id', u.id, 'name', u.name, 'isAdmin', u.is_admin) as "user"
          from personal_access_token t join "user" u on u.id = t.user_id
          where t.hash = ${hash}`,
      );
      return row === undefined ? undefined : { ...row, scopes: row.scopes.filter(isScope) };
    },
    markUsed: async (id, hour) => {
      await withDatabase(
        database.personalAccessToken.updateMany({ where: { id }, data: { lastUsedAt: hour } }),
      );
    },
    tokensOf: async (userId) => {
      const rows = await withDatabase(
        database.personalAccessToken.findMany({
          where: { userId, revokedAt: null },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          select: OWN,
        }),
      );
      return rows.map((row) => ({ ...row, scopes: row.scopes.filter(isScope) }));
    },
    addToken: (userId, token, maxTokens) =>
      withDatabase(
        database.$transaction(async (tx) => {
          // A concurrent insertion waits here, and counts this one.
          await tx.$queryRaw`select 1 from "user" where id = ${userId} for update`;
          const longAgo = new Date(token.createdAt.getTime() - RETENTION_MS);
          await tx.personalAccessToken.deleteMany({
            where: { userId, OR: [{ expiresAt: { lt: longAgo } }, { revokedAt: { lt: longAgo } }] },
          });
          const listed = await tx.personalAccessToken.count({ where: { userId, revokedAt: null } });
          if (listed >= maxTokens) return false;
          await tx.personalAccessToken.create({ data: tokenData(userId, token) });
          return true;
        }),
      ),
    revoke: async (userId, id, at) => {
      const { count } = await withDatabase(
        database.personalAccessToken.updateMany({
          where: { id, userId, revokedAt: null },
          data: { revokedAt: at },
        }),
      );
      return count === 1;
    },
  };
}

export function tokenData(userId: number, token: NewToken) {
  return { ...token, scopes: [...token.scopes], userId };
}
