import { randomInt } from 'node:crypto';
import type { Database } from './prisma.ts';
import { reached } from './reached.ts';
import { USER_FIELDS, type User } from './user.ts';

/** A user for whom an identity provider vouches. */
export interface ProviderUser {
  issuer: string;
  subject: string;
  /** What the user would like to be called. */
  name: string;
  /** When the user was seen. */
  at: Date;
}

/** Users. Methods throw `unavailable` while the database is not reached. */
export interface UserStore {
  findUser(id: number): Promise<User | undefined>;
  findUserByName(name: string): Promise<User | undefined>;
  /** The user whom a provider calls so, made when absent, under a name that nobody else has. */
  findOrAdd(user: ProviderUser): Promise<User & { disabledAt: Date | null }>;
}

const PROVIDER_USER_FIELDS = { ...USER_FIELDS, disabledAt: true } as const;

export function userStore(database: Database): UserStore {
  return {
    findUser: async (id) => {
      const row = await reached(database.user.findUnique({ where: { id }, select: USER_FIELDS }));
      return row ?? undefined;
    },
    findUserByName: async (name) => {
      const row = await reached(database.user.findUnique({ where: { name }, select: USER_FIELDS }));
      return row ?? undefined;
    },
    findOrAdd: async ({ issuer, subject, name, at }) => {
      const known = () =>
        reached(
          database.user.findUnique({
            where: { issuer_subject: { issuer, subject } },
            select: PROVIDER_USER_FIELDS,
          }),
        );
      const wanted = nameFrom(name);
      for (let attempt = 1; ; attempt += 1) {
        const found = await known();
        if (found !== null) return found;
        const free = attempt === 1 ? wanted : `${wanted}-${randomInt(10_000, 100_000)}`;
        const added = await reached(
          database.user.createManyAndReturn({
            data: { name: free, issuer, subject, createdAt: at },
            skipDuplicates: true,
            select: PROVIDER_USER_FIELDS,
          }),
        );
        if (added[0] !== undefined) return added[0];
      }
    },
  };
}

/** A name as ours are: letters, digits and a few signs; shorter than the most, so that a number can follow. */
function nameFrom(wish: string): string {
  const name = wish
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._@-]+/g, '')
    .slice(0, 56);
  return name === '' ? 'user' : name;
}
