import { describe, expect, test } from '@jest/globals';
import { locate, unreachable } from './api-client.ts';

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

describe('a service that cannot be reached', () => {
  test.each([
    ['http://127.0.0.1:8080', 'connect ECONNREFUSED 127.0.0.1:8080', true],
    ['http://localhost:8080', 'connect ECONNREFUSED ::1:8080', true],
    ['http://127.0.0.1:8080', 'other side closed', false],
    ['https://repository.example', 'connect ECONNREFUSED 192.0.2.1:443', false],
  ])('at %s, by "%s", may be a local one that was not started: %s', (base, reason, isAdvised) => {
    const { message } = unreachable(new URL(base), reason);
    expect(message).toContain(`${new URL(base).origin} cannot be reached: ${reason}`);
    expect(message.includes('npm start')).toBe(isAdvised);
  });
});
