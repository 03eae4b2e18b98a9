import { describe, expect, test } from '@jest/globals';
import { keyProblem } from './start-uploads.ts';

describe('a file key', () => {
  test.each([
    'a',
    'map.txt',
    'my file ü.html',
    '...',
    '.htaccess',
    'ação carta.txt',
    '😀.png',
    '%2e%2e',
    'a'.repeat(255),
    'con',
    'a\'b"c;d',
  ])('may be %j', (key) => {
    expect(keyProblem(key)).toBeUndefined();
  });

  test.each([
    ['', 'empty'],
    ['a'.repeat(256), 'length'],
    ['ü'.repeat(128), 'length'],
    ['.', 'characters'],
    ['..', 'characters'],
    ['a/b', 'characters'],
    ['../up.txt', 'characters'],
    ['a\\b', 'characters'],
    ['a\0b', 'characters'],
    ['a\nb', 'characters'],
    ['a\u0085b', 'characters'],
    ['a\u007f', 'characters'],
    ['\u202egpj.exe', 'characters'],
    ['a\u200f', 'characters'],
    ['a\u2066b', 'characters'],
    ['a\ud800', 'characters'],
    ['a\ufffd', 'characters'],
  ])('may not be %j: %s', (key, problem) => {
    expect(keyProblem(key)).toBe(problem);
  });
});
