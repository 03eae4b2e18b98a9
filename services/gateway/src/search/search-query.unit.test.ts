import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { readSearchQuery } from './search-query.ts';

const limits = { pageMaxSize: 1_000 };
const NOTHING = { q: '', bbox: '', cursor: '', sort: '', allVersions: false, filters: [], size: 10, page: 1 };

function refusal(query: string): unknown {
  try {
    return readSearchQuery(new URLSearchParams(query), limits);
  } catch (thrown) {
    const { message, issues } = ServiceError.from(thrown);
    return issues.length === 0
      ? message
      : issues.map(({ field, messages }) => `${field}: ${messages.join()}`);
  }
}

describe('query of a listing', () => {
  test.each<[query: string, read: object]>([
    ['', NOTHING],
    ['q=&bbox=&token=t&access_token=a&prettyprint=1&expand=1', NOTHING],
    [
      'q=flood&size=5&page=2&sort=oldest&bbox=1,2,3,4&allversions=1',
      { ...NOTHING, q: 'flood', size: 5, page: 2, sort: 'oldest', bbox: '1,2,3,4', allVersions: true },
    ],
    ['allversions=False&size=+7', { ...NOTHING, size: 7 }],
    ['cursor=*&size=5', { ...NOTHING, cursor: '*', size: 5 }],
    ['size=1000&page=11', { ...NOTHING, size: 1_000, page: 11 }],
    ['page=99999999999999999999', { ...NOTHING, page: 2_147_483_647 }],
    [
      'subject=a&resource_type=image&subject=b',
      {
        ...NOTHING,
        filters: [
          { name: 'subject', values: ['a', 'b'] },
          { name: 'resource_type', values: ['image'] },
        ],
      },
    ],
  ])('%s is read', (query, read) => {
    expect(readSearchQuery(new URLSearchParams(query), limits)).toEqual(read);
  });

  test.each<[query: string, refused: unknown]>([
    ['size=0', ['size: Must be greater than or equal to 1.']],
    [
      'size=-1&page=0',
      ['size: Must be greater than or equal to 1.', 'page: Must be greater than or equal to 1.'],
    ],
    ['size=ten', ['size: Not a valid integer.']],
    ['size=', ['size: Not a valid integer.']],
    ['size=1.5', ['size: Not a valid integer.']],
    ['size=1001', ['size: Page size cannot be greater than 1000.']],
    ['cursor=*&page=1', ['page: A cursor takes the place of the page.']],
    ['allversions=maybe', ['allversions: Not a valid boolean.']],
    ['sort=', ["_schema: Invalid sort option ''."]],
    ['suggest=x', 'Invalid querystring parameters.'],
    ['q=%00', 'Invalid querystring parameters.'],
  ])('%s is refused', (query, refused) => {
    expect(refusal(query)).toEqual(refused);
  });
});
