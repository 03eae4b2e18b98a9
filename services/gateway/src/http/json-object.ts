import { ServiceError } from '@kr/service-error';

/** A JSON object as its service takes it. @throws ServiceError `invalid`: not an object */
export function objectBody(body: unknown): Buffer {
  if (!isObject(body)) throw invalidInput();
  return Buffer.from(JSON.stringify(body));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function invalidInput(field = '_schema'): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field, messages: ['Invalid input type.'] }],
  });
}
