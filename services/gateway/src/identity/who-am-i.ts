import { ServiceError } from '@kr/service-error';
import { json } from '../http/endpoint.ts';
import type { Operation } from '../http/route.ts';
import type { UserStore } from './user-store.ts';

export function userRoutes(users: Pick<UserStore, 'findUser'>): Operation[] {
  return [
    {
      method: 'GET',
      path: '/api/user',
      operationId: 'whoAmI',
      summary: 'The user whose token the request carries.',
      responses: { 200: 'User' },
      handler: async (call) => {
        const { principal, baseUrl } = call;
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
      },
    },
  ];
}
