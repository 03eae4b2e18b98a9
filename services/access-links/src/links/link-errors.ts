import { type Issue, ServiceError } from '@kr/service-error';

export function noSuchLink(): ServiceError {
  return new ServiceError('not_found', 'No secret link found with the given ID.');
}

export function invalidLink(issues: readonly Issue[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues });
}
