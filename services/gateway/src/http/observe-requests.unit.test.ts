import { expect, test } from '@jest/globals';
import { withoutTokens } from './observe-requests.ts';

test.each([
  ['/api/records', '/api/records'],
  ['/api/records?q=token&size=1', '/api/records?q=token&size=1'],
  ['/api/records?token=secret', '/api/records?token=…'],
  ['/api/records?q=a&access_token=secret&page=2', '/api/records?q=a&access_token=…&page=2'],
  ['/api/records?%74oken=secret&a?token=x', '/api/records?token=…&a?token=x'],
  ['/api/records?token=a?token=b&token=%zz', '/api/records?token=…&token=…'],
])('%s is logged as %s', (url, logged) => {
  expect(withoutTokens(url)).toBe(logged);
});
