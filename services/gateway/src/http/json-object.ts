import { invalid } from './invalid.ts';

/** A JSON object as its service takes it. @throws ServiceError `invalid`: not an object */
export function objectBody(body: unknown): Buffer {
  if (!isObject(body)) throw invalid('_schema', 'Invalid input type.');
  return Buffer.from(JSON.stringify(body));
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
