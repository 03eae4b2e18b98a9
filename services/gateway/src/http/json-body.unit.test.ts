import { describe, expect, test } from '@jest/globals';
import { ServiceError } from '@kr/service-error';
import { decodeJsonBody } from './body.ts';

function refusal(body: string | Buffer): unknown {
  try {
    return { decoded: decodeJsonBody(Buffer.from(body)) };
  } catch (thrown) {
    const { kind, message, issues } = ServiceError.from(thrown);
    return { kind, message, issues };
  }
}

function nested(levels: number): string {
  return `${'['.repeat(levels)}${']'.repeat(levels)}`;
}

describe('JSON bodies', () => {
  test.each<[name: string, body: string, value: unknown]>([
    ['nothing', '', undefined],
    ['blanks', ' \r\n', undefined],
    ['null', 'null', null],
    ['a text', '"abc"', 'abc'],
    [
      'an object',
      '{"a":{"b":[1,{"a":2}]},"b":"{\\"a\\":1,\\"a\\":2}"}',
      { a: { b: [1, { a: 2 }] }, b: '{"a":1,"a":2}' },
    ],
    ['the same key in two objects', '[{"a":1},{"a":1}]', [{ a: 1 }, { a: 1 }]],
    ['a whole surrogate pair', '"\\ud83d\\ude00"', '😀'],
    ['a byte order mark', '\uFEFF{}', {}],
    ['32 levels', nested(32), JSON.parse(nested(32))],
    ['a thousand items', JSON.stringify(Array(1_000).fill(0)), Array(1_000).fill(0)],
    [
      'a long coastline',
      JSON.stringify({ coordinates: [Array(2_000).fill([0, 0])] }),
      { coordinates: [Array(2_000).fill([0, 0])] },
    ],
    ['a long text', JSON.stringify('x'.repeat(65_536)), 'x'.repeat(65_536)],
    ['a long text, escaped', `"${'\\u00e9'.repeat(65_536)}"`, 'é'.repeat(65_536)],
  ])('%s is taken', (_name, body, value) => {
    expect(decodeJsonBody(Buffer.from(body))).toEqual(value);
  });

  test.each<[name: string, body: string | Buffer]>([
    ['a torn object', '{"metadata": {'],
    ['single quotes', "{'a': 1}"],
    ['a comma at the end', '[1,]'],
    ['NaN', 'NaN'],
    ['two values', '{} {}'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['half a pair in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a control character', '"\u0001"'],
  ])('%s is not JSON', (_name, body) => {
    expect(refusal(body)).toEqual({
      kind: 'invalid',
      message: 'Unable to decode JSON data in request body.',
      issues: [],
    });
  });

  test.each<[name: string, body: string, field: string, message: string]>([
    ['a prototype', '{"metadata":[{},{"__proto__":{}}]}', 'metadata.1.__proto__', 'Unknown field.'],
    ['an escaped prototype', '{"__pr\\u006fto__":1}', '__proto__', 'Unknown field.'],
    ['a constructor', '{"a":{"constructor":1}}', 'a.constructor', 'Unknown field.'],
    ['a key twice', '{"a":1,"b":{"c":[0]},"a":2}', 'a', 'Duplicate key.'],
    ['a key twice, once escaped', '{"a":1,"\\u0061":2}', 'a', 'Duplicate key.'],
    ['half a pair', '{"a":["x","\\ud800"]}', 'a.1', 'Not a valid string.'],
    ['half a pair in a key', '{"\\udc00":1}', '_schema', 'Not a valid string.'],
    ['33 levels', nested(33), Array(32).fill('0').join('.'), 'Nested deeper than 32 levels.'],
    [
      'a thousand and one items',
      JSON.stringify({ a: [Array(1_001).fill([])] }),
      'a.0',
      'Longer than maximum length 1000.',
    ],
    [
      'a text too long',
      JSON.stringify({ a: [0, 'x'.repeat(65_537)] }),
      'a.1',
      'Longer than maximum length 65536.',
    ],
    ['very many levels', nested(100_000), Array(32).fill('0').join('.'), 'Nested deeper than 32 levels.'],
  ])('%s is refused with its position', (_name, body, field, message) => {
    expect(refusal(body)).toEqual({
      kind: 'invalid',
      message: 'A validation error occurred.',
      issues: [{ field, messages: [message] }],
    });
  });
});
