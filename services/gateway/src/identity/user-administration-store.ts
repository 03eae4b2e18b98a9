import { ServiceError } from '@kr/service-error';
import type { Database } from '../database.ts';
import type { Prisma } from '../gen/prisma/client.ts';
import { type NewToken, tokenData } from './token-store.ts';
import { USER_FIELDS, type User, withDatabase } from './user-store.ts';

/** A user as operators see it. */
export interface ListedUser extends User {
  createdAt: Date;
  /** Null: enabled. */
  disabledAt: Date | null;
  /** The identity provider; null for users that operators created. */
  issuer: string | null;
}

/** The operator who requests a change. */
export interface Operator {
  service: string;
  requestId: string;
}

export interface UserAuditEntry extends Operator {
  createdAt: Date;
  action: UserAction;
  metadata: unknown;
}

type UserAction =
  | 'user.create'
  | 'user.grant_admin'
  | 'user.disable'
  | 'user.enable'
  | 'token.create'
  | 'token.revoke';
type Transaction = Prisma.TransactionClient;

const LISTED = { ...USER_FIELDS, createdAt: true, disabledAt: true, issuer: true } as const;

/**
 * Changes of users by operators, each with its audit entry in one transaction. A change locks the row of the user, so
 * concurrent changes of one user are serialised. Methods throw `unavailable` while the database cannot be reached,
 * and `not_found` if no user has the name.
 */
export interface UserAdministrationStore {
  /**
   * Creates a user with a token. With `addsToken` a user of that name gets a further token and never loses rights.
   * @throws ServiceError `conflict`: the name is taken, or the identity provider's user has it
   */
  create(user: Omit<User, 'id'> & { addsToken: boolean }, token: NewToken, operator: Operator): Promise<User>;
  /** In the order of their ids. */
  list(afterId: number, limit: number): Promise<ListedUser[]>;
  find(name: string): Promise<ListedUser>;
  setDisabled(name: string, isDisabled: boolean, at: Date, operator: Operator): Promise<ListedUser>;
  /**
   * Revokes these tokens of a user, or all. Returns their ids.
   * @throws ServiceError `not_found`: one of the ids is unknown or revoked; none is revoked then
   */
  revoke(name: string, ids: readonly string[] | 'all', at: Date, operator: Operator): Promise<string[]>;
  /** The latest first. */
  auditLog(name: string, limit: number): Promise<UserAuditEntry[]>;
}

export function userAdministrationStore(database: Database): UserAdministrationStore {
  const find = async (name: string, from: Transaction = database): Promise<ListedUser> => {
    const user = await withDatabase(from.user.findUnique({ where: { name }, select: LISTED }));
    if (user === null) throw new ServiceError('not_found', `No user has the name ${name}.`);
    return user;
  };
  /** Runs a change while no other change of the user runs. */
  const change = <Result>(
    name: string,
    work: (tx: Transaction, user: ListedUser) => Promise<Result>,
  ): Promise<Result> =>
    withDatabase(
      database.$transaction(async (tx) => {
        await tx.$queryRaw`select 1 from "user" where name = ${name} for update`;
        return work(tx, await find(name, tx));
      }),
    );

  return {
    create: ({ name, isAdmin, addsToken }, token, operator) =>
      withDatabase(
        database.$transaction(async (tx) => {
          const { count } = await tx.user.createMany({
            data: { name, isAdmin, createdAt: token.createdAt },
            skipDuplicates: true,
          });
          await tx.$queryRaw`select 1 from "user" where name = ${name} for update`;
          const user = await find(name, tx);
          if (count === 1) await audit(tx, user, 'user.create', { name, is_admin: isAdmin }, operator);
          else await extend(tx, user, { isAdmin, addsToken }, operator);
          await tx.personalAccessToken.create({ data: tokenData(user.id, token) });
          const expires = { expires_at: token.expiresAt?.toISOString() ?? null };
          await audit(tx, user, 'token.create', { token: token.id, ...expires }, operator);
          return { id: user.id, name, isAdmin: user.isAdmin || isAdmin };
        }),
      ),
    list: (afterId, limit) =>
      withDatabase(
        database.user.findMany({
          where: { id: { gt: afterId } },
          orderBy: { id: 'asc' },
          take: limit,
          select: LISTED,
        }),
      ),
    find,
    setDisabled: (name, isDisabled, at, operator) =>
      change(name, async (tx, user) => {
        if ((user.disabledAt !== null) === isDisabled) return user;
        await audit(tx, user, isDisabled ? 'user.disable' : 'user.enable', {}, operator);
        const data = { disabledAt: isDisabled ? at : null };
        return tx.user.update({ where: { id: user.id }, data, select: LISTED });
      }),
    revoke: (name, ids, at, operator) =>
      change(name, async (tx, user) => {
        const rows = await tx.personalAccessToken.updateManyAndReturn({
          where: { userId: user.id, revokedAt: null, ...(ids !== 'all' && { id: { in: [...ids] } }) },
          data: { revokedAt: at },
          select: { id: true },
        });
        const revoked = rows.map(({ id }) => id);
        const unknown = ids === 'all' ? [] : ids.filter((id) => !revoked.includes(id));
        if (unknown.length > 0)
          throw new ServiceError('not_found', `${name} has no such token: ${unknown.join(', ')}`);
        if (revoked.length > 0) await audit(tx, user, 'token.revoke', { tokens: revoked }, operator);
        return revoked;
      }),
    auditLog: async (name, limit) => {
      const { id: userId } = await find(name);
      const rows = await withDatabase(
        database.userAuditEntry.findMany({ where: { userId }, orderBy: { position: 'desc' }, take: limit }),
      );
      return rows.map((row) => ({ ...row, action: row.action as UserAction }));
    },
  };
}

/** Checks that a user whom operators manage may get a further token, and grants the requested rights. */
async function extend(
  tx: Transaction,
  user: ListedUser,
  { isAdmin, addsToken }: { isAdmin: boolean; addsToken: boolean },
  operator: Operator,
): Promise<void> {
  if (user.issuer !== null)
    throw new ServiceError('conflict', 'The name belongs to a user of the identity provider.');
  if (!addsToken)
    throw new ServiceError('conflict', `The name ${user.name} is taken. To add a token, use --token.`);
  if (!isAdmin || user.isAdmin) return;
  await tx.user.update({ where: { id: user.id }, data: { isAdmin } });
  await audit(tx, user, 'user.grant_admin', {}, operator);
}

async function audit(
  tx: Transaction,
  { id: userId }: User,
  action: UserAction,
  metadata: Prisma.InputJsonObject,
  { service, requestId }: Operator,
): Promise<void> {
  await tx.userAuditEntry.createMany({ data: { userId, action, metadata, service, requestId } });
}
