import type { Principal } from '@kr/caller';
import { ServiceError } from '@kr/service-error';

/** @throws ServiceError `forbidden`: the caller is a person, or another service than the one named */
export function requireService(principal: Principal, name?: string): void {
  const isAllowed = name === undefined ? principal.service !== null : principal.service === name;
  if (!isAllowed) throw new ServiceError('forbidden', 'Permission denied.');
}
