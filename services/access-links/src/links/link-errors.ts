import { type Issue, ServiceError } from '@kr/service-error';

export function noSuchLink(): ServiceError {
  return new ServiceError('not_found', 'No secret link found with the given ID.');
}

export function tooManyLinks(most: number): ServiceError {
  return new ServiceError('invalid', `An entity may have at most ${most} access links; revoke one.`, {
    code: 'too_many_links',
  });
}

export function invalidLink(issues: readonly Issue[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues });
}
