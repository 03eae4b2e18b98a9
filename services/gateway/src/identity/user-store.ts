import { randomInt } from 'node:crypto';
import type { FindUserRequest__Output, FindUserResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { isTransient, ServiceError } from '@kr/service-error';
import type { Database } from '../database.ts';

export interface User {
  id: number;
  name: string;
  isAdmin: boolean;
}

/** The selected columns of a user. */
export const USER_FIELDS = { id: true, name: true, isAdmin: true } as const;

/**
 * The result of a query. @throws ServiceError `unavailable`: the database cannot be reached, or not in time
 */
export async function withDatabase<Value>(query: Promise<Value>): Promise<Value> {
  try {
    return await query;
  } catch (thrown) {
    if (thrown instanceof ServiceError || !isTransient(thrown)) throw thrown;
    throw new ServiceError('unavailable', 'The service is not available.', {
      retryAfterMs: 1_000,
      cause: thrown,
    });
  }
}

/** A user of an identity provider. */
export interface ProviderUser {
  issuer: string;
  subject: string;
  /** The display name that the user prefers. */
  name: string;
  /** The time of the request. */
  at: Date;
}

/** Users. Methods throw `unavailable` while the database cannot be reached. */
export interface UserStore {
  findUser(id: number): Promise<User | undefined>;
  findUserByName(name: string): Promise<User | undefined>;
  /** The user with this subject of the provider, created when absent, with a unique name. */
  findOrAdd(user: ProviderUser): Promise<User & { disabledAt: Date | null }>;
}

const PROVIDER_USER_FIELDS = { ...USER_FIELDS, disabledAt: true } as const;

export function userStore(database: Database): UserStore {
  return {
    findUser: async (id) => {
      const row = await withDatabase(database.user.findUnique({ where: { id }, select: USER_FIELDS }));
      return row ?? undefined;
    },
    findUserByName: async (name) => {
      const row = await withDatabase(database.user.findUnique({ where: { name }, select: USER_FIELDS }));
      return row ?? undefined;
    },
    findOrAdd: async ({ issuer, subject, name, at }) => {
      const find = () =>
        withDatabase(
          database.user.findUnique({
            where: { issuer_subject: { issuer, subject } },
            select: PROVIDER_USER_FIELDS,
          }),
        );
      const baseName = nameFrom(name);
      for (let attempt = 1; ; attempt += 1) {
        const found = await find();
        if (found !== null) return found;
        const free = attempt === 1 ? baseName : `${baseName}-${randomInt(10_000, 100_000)}`;
        const added = await withDatabase(
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

/** A valid user name: letters, digits and a few signs; shorter than the limit, so that a number can follow. */
function nameFrom(claim: string): string {
  const name = claim
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9._@-]+/g, '')
    .slice(0, 56);
  return name === '' ? 'user' : name;
}

// The largest id that the column can have is 2147483647.
const ID = /^[1-9]\d{0,8}$/;

/**
 * RPC FindUser: a user by id or name.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is not a service
 *   - `not_found`: there is no such user
 */
export function findUser(users: Pick<UserStore, 'findUser' | 'findUserByName'>) {
  return async ({ nameOrId }: FindUserRequest__Output, call: CallContext): Promise<FindUserResponse> => {
    if (call.principal.service === null) throw new ServiceError('forbidden', 'Permission denied.');
    const byId = ID.test(nameOrId) ? await users.findUser(Number(nameOrId)) : undefined;
    const user = byId ?? (await users.findUserByName(nameOrId));
    if (user === undefined)
      throw new ServiceError('not_found', `There is no user ${JSON.stringify(nameOrId)}.`);
    return { userId: String(user.id), name: user.name };
  };
}
