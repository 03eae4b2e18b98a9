import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { readIds } from './request-body.ts';

const bytes = (body: unknown) => Buffer.from(body === undefined ? '' : JSON.stringify(body));

function refusal(body: unknown): unknown {
  try {
    return readIds(bytes(body), 'records');
  } catch (thrown) {
    return ServiceError.from(thrown).issues.map(({ field, messages }) => `${field}: ${messages.join()}`);
  }
}

describe('a body of ids', () => {
  test('gives the ids in their order', () => {
    expect(readIds(bytes({ records: [{ id: 'b' }, { id: 'a' }] }), 'records')).toEqual(['b', 'a']);
  });

  test.each<[name: string, body: unknown, issues: string[]]>([
    ['nothing', undefined, ['_schema: Invalid input type.']],
    ['null', null, ['_schema: Invalid input type.']],
    ['a list', [], ['_schema: Invalid input type.']],
    ['an empty object', {}, ['records: Missing data for required field.']],
    [
      'another name',
      { resources: [{ id: 'a' }] },
      ['records: Missing data for required field.', 'resources: Unknown field.'],
    ],
    ['no list', { records: 'a' }, ['records: Not a valid list.']],
    ['null as list', { records: null }, ['records: Field may not be null.']],
    ['a null character', { records: [{ id: 'a\u0000' }] }, ['records.0.id: Not a valid string.']],
    ['an empty list', { records: [] }, ['records: Length must be between 1 and 100.']],
    [
      'too many',
      { records: Array.from({ length: 101 }, () => ({ id: 'a' })) },
      ['records: Length must be between 1 and 100.'],
    ],
    [
      'bad items',
      { records: [{}, 'a', { id: 1 }, { id: null }, { id: 'a', x: 1 }] },
      [
        'records.0.id: Missing data for required field.',
        'records.1._schema: Invalid input type.',
        'records.2.id: Not a valid string.',
        'records.3.id: Field may not be null.',
        'records.4.x: Unknown field.',
      ],
    ],
  ])('%s is refused', (_name, body, issues) => {
    expect(refusal(body)).toEqual(issues);
  });
});
