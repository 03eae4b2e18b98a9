import { describe, expect, test } from '@jest/globals';
import { requestBody } from './content.ts';

describe('the body of a create or an update', () => {
  test('loses its null characters in every position', () => {
    const sent = '{"a\\u0000":["\\u0000x",{"b":"\\u0000"},1,null],"c":"\\\\u0000"}';
    expect(requestBody(Buffer.from(sent))).toEqual({ a: ['x', { b: '' }, 1, null], c: '\\u0000' });
  });
});
