import { SCOPES } from '@kr/caller';
import type { CreateUserRequest__Output, CreateUserResponse } from '@kr/contracts';
import type { CallContext } from '@kr/rpc';
import { ServiceError } from '@kr/service-error';
import { mintToken, tokenHash } from './access-token.ts';
import type { UserStore } from './user-store.ts';

const NAME = /^[A-Za-z0-9._@-]{1,64}$/;

interface CreateUserDeps {
  users: Pick<UserStore, 'addToken'>;
  now: () => Date;
  newId: () => string;
}

/**
 * RPC CreateUser: a user with a token, or a further token for the user of that name.
 *
 * @throws ServiceError
 *   - `forbidden`: the caller is not a service
 *   - `invalid`: not a user name
 */
export function createUser({ users, now, newId }: CreateUserDeps) {
  return async (request: CreateUserRequest__Output, call: CallContext): Promise<CreateUserResponse> => {
    if (call.principal.service === null) throw new ServiceError('forbidden', 'Permission denied.');
    if (!NAME.test(request.name)) {
      throw new ServiceError('invalid', 'A validation error occurred.', {
        issues: [{ field: 'name', messages: ['Use 1 to 64 letters, digits or any of . _ - @'] }],
      });
    }
    const token = mintToken();
    const user = await users.addToken(
      { name: request.name, isAdmin: request.isAdmin },
      {
        id: newId(),
        name: 'made by an operator',
        scopes: SCOPES.filter((scope) => scope !== 'admin' || request.isAdmin),
        hash: tokenHash(token),
        createdAt: now(),
        expiresAt: null,
      },
    );
    return { userId: String(user.id), name: user.name, isAdmin: user.isAdmin, token };
  };
}
