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

/** Users and what is kept of their tokens. */
export interface UserStore {
  findToken(hash: Uint8Array<ArrayBuffer>): Promise<TokenRow | undefined>;
  findUser(id: number): Promise<User | undefined>;
  /** Adds a token to the user of this name, who is made when absent and never loses rights by it. */
  addToken(user: Omit<User, 'id'>, token: NewToken): Promise<User>;
}

export function userStore(database: Database): UserStore {
  return {
    findToken: async (hash) => {
      const row = await database.personalAccessToken.findUnique({
        where: { hash },
        select: { expiresAt: true, revokedAt: true, user: { select: USER } },
      });
      return row ?? undefined;
    },
    findUser: async (id) => (await database.user.findUnique({ where: { id }, select: USER })) ?? undefined,
    addToken: ({ name, isAdmin }, { id, hash, createdAt }) =>
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
  };
}
