import { ServiceError } from '@kr/service-error';
import { type Endpoint, json } from '../http/endpoint.ts';
import type { UserStore } from './user-store.ts';

/** GET /api/user: the user whose token the request carries. */
export function whoAmI(users: Pick<UserStore, 'findUser'>): Endpoint {
  return async ({ principal, baseUrl }) => {
    // A link token alone is a credential, but of no user.
    const user = principal.userId === null ? undefined : await users.findUser(Number(principal.userId));
    if (user === undefined) throw new ServiceError('unauthenticated', 'Authentication required.');
    return json(200, {
      id: user.id,
      name: user.name,
      is_admin: principal.isAdmin,
      links: {
        self: `${baseUrl}/api/user`,
        tokens: `${baseUrl}/api/user/tokens`,
        records: `${baseUrl}/api/user/records`,
        packages: `${baseUrl}/api/user/packages`,
      },
    });
  };
}
