import type { Database } from './prisma.ts';
import { reached } from './reached.ts';
import { type NewToken, tokenData } from './token-store.ts';
import { USER_FIELDS, type User } from './user.ts';

/** Users. Methods throw `unavailable` while the database is not reached. */
export interface UserStore {
  findUser(id: number): Promise<User | undefined>;
  /** Adds a token to the user of this name, who is made when absent and never loses rights by it. */
  addToken(user: Omit<User, 'id'>, token: NewToken): Promise<User>;
}

export function userStore(database: Database): UserStore {
  return {
    findUser: async (id) => {
      const row = await reached(database.user.findUnique({ where: { id }, select: USER_FIELDS }));
      return row ?? undefined;
    },
    addToken: ({ name, isAdmin }, token) =>
      reached(
        database.$transaction(async (tx) => {
          // One statement, so that two calls at once cannot both find the name free.
          const user = await tx.user.upsert({
            where: { name },
            create: { name, isAdmin, createdAt: token.createdAt },
            update: isAdmin ? { isAdmin } : {},
            select: USER_FIELDS,
          });
          await tx.personalAccessToken.create({ data: tokenData(user.id, token) });
          return user;
        }),
      ),
  };
}
