import { ServiceError } from '@kr/service-error';
import type { Database } from './prisma.ts';

export interface User {
  id: number;
  name: string;
  isAdmin: boolean;
}

/** A token's user and whether it holds. */
export interface TokenRow {
  expiresAt: Date | null;
  revokedAt: Date | null;
  user: User;
}

export interface NewToken {
  id: string;
  hash: Uint8Array<ArrayBuffer>;
  createdAt: Date;
}

const USER = { id: true, name: true, isAdmin: true } as const;

/** Users and what is kept of their tokens. Methods throw `unavailable` while the database is not reached. */
export interface UserStore {
  findToken(hash: Uint8Array<ArrayBuffer>): Promise<TokenRow | undefined>;
  findUser(id: number): Promise<User | undefined>;
  /** Adds a token to the user of this name, who is made when absent and never loses rights by it. */
  addToken(user: Omit<User, 'id'>, token: NewToken): Promise<User>;
}

export function userStore(database: Database): UserStore {
  return {
    findToken: async (hash) => {
      const row = await reached(
        database.personalAccessToken.findUnique({
          where: { hash },
          select: { expiresAt: true, revokedAt: true, user: { select: USER } },
        }),
      );
      return row ?? undefined;
    },
    findUser: async (id) => {
      const row = await reached(database.user.findUnique({ where: { id }, select: USER }));
      return row ?? undefined;
    },
    addToken: ({ name, isAdmin }, { id, hash, createdAt }) =>
      reached(
        database.$transaction(async (tx) => {
          // One statement, so that two calls at once cannot both find the name free.
          const user = await tx.user.upsert({
            where: { name },
            create: { name, isAdmin, createdAt },
            update: isAdmin ? { isAdmin } : {},
            select: USER,
          });
          await tx.personalAccessToken.create({ data: { id, hash, createdAt, userId: user.id } });
          return user;
        }),
      ),
  };
}

/** Prisma's codes for a database that cannot be reached, does not answer in time, or has no connection free. */
const UNREACHED = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024']);

async function reached<Value>(query: Promise<Value>): Promise<Value> {
  try {
    return await query;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && UNREACHED.has(String(thrown.code)))) throw thrown;
    throw new ServiceError('unavailable', 'The service is not available at the moment.', {
      retryAfterMs: 1_000,
      cause: thrown,
    });
  }
}
