import type { FindUserRequest__Output, FindUserResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import type { UserStore } from './user-store.ts';

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
