import type { Principal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';

/** @throws ServiceError `forbidden`: neither a user who operates the system nor a part of it */
export function requireOperator({ isAdmin, service }: Principal): void {
  if (!isAdmin && service === null) throw new ServiceError('forbidden', 'Permission denied.');
}
