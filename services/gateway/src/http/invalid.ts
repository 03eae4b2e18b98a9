import { type Issue, ServiceError } from '@kr/service-error';

/** The error of one invalid field. */
export function invalid(field: string, ...messages: string[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues: [{ field, messages }] });
}

/** @throws ServiceError `invalid`, with all issues, if there are any */
export function assertValid(issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ServiceError('invalid', 'A validation error occurred.', { issues });
}
