import { type Issue, ServiceError } from '@kr/service-error';

const MAX_IDS = 100;

/**
 * The ids of a body such as `{"records": [{"id": "e7vvn-90a62"}]}`.
 * @throws ServiceError `invalid`: any other body, with an issue for each problem
 */
export function readIds(body: Uint8Array, name: 'records' | 'resources'): string[] {
  const { [name]: list, ...rest } = readObject(body);
  const issues: Issue[] = [...listIssues(name, list), ...unknownFields('', rest)];
  const ids = Array.isArray(list)
    ? list.map((item: unknown, index) => readId(item, `${name}.${index}`, issues))
    : [];
  if (issues.length > 0) throw invalid(issues);
  return ids;
}

/**
 * The policy of a body such as `{"access": {"record_policy": "open"}}`.
 * @throws ServiceError `invalid`: any other body
 */
export function readPolicy(body: Uint8Array): 'open' | 'closed' {
  const { access } = readObject(body);
  if (access === undefined) throw invalid([issue('access', 'Missing data for required field.')]);
  if (!isObject(access)) throw invalid([issue('access._schema', 'Invalid input type.')]);
  const { record_policy: policy } = access;
  if (policy === 'open' || policy === 'closed') return policy;
  const message = policy === undefined ? 'Missing data for required field.' : 'Must be one of: open, closed.';
  throw invalid([issue('access.record_policy', message)]);
}

function readObject(body: Uint8Array): Record<string, unknown> {
  const text = Buffer.from(body).toString().trim();
  const value = text === '' ? undefined : parse(text);
  if (!isObject(value)) throw invalid([issue('_schema', 'Invalid input type.')]);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('invalid', 'Unable to decode JSON data in request body.', { cause });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listIssues(name: string, list: unknown): Issue[] {
  if (list === undefined) return [issue(name, 'Missing data for required field.')];
  if (list === null) return [issue(name, 'Field may not be null.')];
  if (!Array.isArray(list)) return [issue(name, 'Not a valid list.')];
  if (list.length < 1 || list.length > MAX_IDS)
    return [issue(name, `Length must be between 1 and ${MAX_IDS}.`)];
  return [];
}

function readId(item: unknown, path: string, issues: Issue[]): string {
  if (!isObject(item)) {
    issues.push(issue(`${path}._schema`, 'Invalid input type.'));
    return '';
  }
  const { id, ...rest } = item;
  issues.push(...unknownFields(`${path}.`, rest));
  if (typeof id === 'string' && !id.includes('\u0000')) return id;
  if (id === undefined) issues.push(issue(`${path}.id`, 'Missing data for required field.'));
  else issues.push(issue(`${path}.id`, id === null ? 'Field may not be null.' : 'Not a valid string.'));
  return '';
}

function unknownFields(prefix: string, rest: Record<string, unknown>): Issue[] {
  return Object.keys(rest).map((key) => issue(`${prefix}${key}`, 'Unknown field.'));
}

function invalid(issues: readonly Issue[]): ServiceError {
  return new ServiceError('invalid', 'A validation error occurred.', { issues });
}

function issue(field: string, message: string): Issue {
  return { field, messages: [message] };
}
