import { ServiceError } from '@kr/service-error';

/** A parameter with a value that it cannot have. */
export function refusedField(field: string, message: string): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: [message] }],
  });
}
