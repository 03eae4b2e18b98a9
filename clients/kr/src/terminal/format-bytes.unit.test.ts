import { describe, expect, test } from '@jest/globals';
import { formatBytes, parseBytes } from './format-bytes.ts';

describe('a size', () => {
  test.each([
    ['0', 0],
    ['1000000', 1_000_000],
    ['500MB', 500_000_000],
    ['500 mb', 500_000_000],
    ['1.5TB', 1_500_000_000_000],
    ['0.001kB', 1],
    ['-1', undefined],
    ['1,5TB', undefined],
    ['1.5 PB', undefined],
    ['', undefined],
    ['GB', undefined],
  ])('%j is %p bytes', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_250_000, '1.3 MB'],
    [50_000_000, '50 MB'],
  ])('%i bytes read %s, and are understood again', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
    expect(parseBytes(text)).toBeDefined();
  });
});
