import { ServiceError } from '@kr/service-error';
import { invalidLink } from './link-errors.ts';

/** A request body that is a JSON object. @throws ServiceError `invalid`: no JSON, or something else in it */
export function readLinkBody(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const body = bytes.length === 0 ? undefined : parse(bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidLink([{ field: '_schema', messages: ['Invalid input type.'] }]);
  }
  return body as Record<string, unknown>;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8').trim());
  } catch (cause) {
    throw new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
  }
}
