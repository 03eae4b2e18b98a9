import { type Issue, ServiceError } from '@kr/service-error';
import { invalidInput, isObject } from '../http/json-object.ts';

/**
 * The body parsed by `read`. Validation problems are shown only to permitted callers: for an invalid body
 * the service is called without effect, and if it refuses for another reason, that is the answer.
 * @throws ServiceError what `doNothing` throws unless it is `invalid`; else what `read` throws
 */
export async function checkedBody<Value>(
  read: () => Value,
  doNothing: () => Promise<unknown>,
): Promise<Value> {
  try {
    return read();
  } catch (invalid) {
    await doNothing().catch((thrown: unknown) => {
      if (ServiceError.from(thrown).kind !== 'invalid') throw thrown;
    });
    throw invalid;
  }
}

const MOST_IDS = 100;

/**
 * The ids of a body such as `{"records": [{"id": "e7vvn-90a62"}]}`.
 * @throws ServiceError `invalid`: any other body, with an issue for each problem
 */
export function idListBody(body: unknown, name: 'records' | 'resources'): string[] {
  if (!isObject(body)) throw invalidInput();
  const { [name]: list, ...rest } = body;
  const issues: Issue[] = [...listIssues(name, list), ...unknownFields('', rest)];
  const ids = Array.isArray(list)
    ? list.map((item: unknown, index) => readId(item, `${name}.${index}`, issues))
    : [];
  if (issues.length > 0) throw new ServiceError('invalid', 'A validation error occurred.', { issues });
  return ids;
}

function listIssues(name: string, list: unknown): Issue[] {
  if (list === undefined) return [issue(name, 'Missing data for required field.')];
  if (list === null) return [issue(name, 'Field may not be null.')];
  if (!Array.isArray(list)) return [issue(name, 'Not a valid list.')];
  if (list.length < 1 || list.length > MOST_IDS)
    return [issue(name, `Length must be between 1 and ${MOST_IDS}.`)];
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

function issue(field: string, message: string): Issue {
  return { field, messages: [message] };
}
