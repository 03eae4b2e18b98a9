import { describe, expect, test } from '@jest/globals';
import { locate } from './api-client.ts';

describe('a link is followed', () => {
  test.each([
    { base: 'http://h:1', target: '/api/records', url: 'http://h:1/api/records' },
    { base: 'http://h:1/', target: 'http://h:1/api/records/a%20b', url: 'http://h:1/api/records/a%20b' },
    {
      base: 'http://h:1',
      target: 'https://elsewhere.example/api/records?x=1',
      url: 'http://h:1/api/records?x=1',
    },
    { base: 'https://h/repo', target: '/api/records', url: 'https://h/repo/api/records' },
    { base: 'https://h/repo/', target: 'https://h/repo/api/records', url: 'https://h/repo/api/records' },
    { base: 'http://h', target: '//elsewhere.example/api', url: 'http://h/api' },
  ])('at $base for $target', ({ base, target, url }) => {
    expect(locate(new URL(base), { target }).href).toBe(url);
  });

  test('with its query', () => {
    expect(locate(new URL('http://h'), { target: '/api?a=1', query: { q: 'ä & b' } }).href).toBe(
      'http://h/api?a=1&q=%C3%A4+%26+b',
    );
  });
});
