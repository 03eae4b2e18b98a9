import { ServiceError } from '@kr/service-error';
import { isJsonObject, type JsonObject } from './json-object.ts';

/**
 * The body of a create or an update. Nothing, `null` and `[]` are an empty object. Null characters are left out of its
 * texts and keys: they mean nothing, and Postgres cannot store them.
 *
 * @throws ServiceError `invalid` when it is no JSON, or neither object nor nothing
 */
export function requestBody(bytes: Uint8Array): JsonObject {
  const value = decode(Buffer.from(bytes).toString('utf8').trim());
  if (value === null || (Array.isArray(value) && value.length === 0)) return {};
  if (isJsonObject(value)) return value;
  throw new ServiceError('invalid', 'A validation error occurred.', {
    issues: [{ field: '_schema', messages: ['Invalid input type.'] }],
  });
}

function decode(text: string): unknown {
  if (text === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return text.includes('\\u0000') ? withoutNulls(value) : value;
  } catch (cause) {
    throw new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
  }
}

function withoutNulls(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\u0000', '');
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll('\u0000', ''), withoutNulls(inner)]),
  );
}
