import { describe, expect, test } from '@jest/globals';
import { formatBytes } from './format-bytes.ts';
import { createTerminal } from './terminal.ts';
import { bar, transferProgress } from './transfer-progress.ts';

describe('progress bar', () => {
  test.each([
    {
      bytes: 0,
      width: 80,
      line: 'up [......................................]   0 %  1/2 files  0 B of 2.0 kB',
    },
    { bytes: 500, width: 60, line: 'up [.....]' },
    { bytes: 2_000, width: 30, line: 'up 100 %  1/2 files  2.0 kB o' },
  ])('fits $width columns', ({ bytes, width, line }) => {
    const drawn = bar('up', { files: 1, bytes }, { files: 2, bytes: 2_000 }, width);
    expect(drawn.length).toBeLessThan(width);
    expect(drawn.startsWith(line.slice(0, 4))).toBe(true);
  });

  test('is full when there is nothing to move', () => {
    expect(bar('up', { files: 0, bytes: 0 }, { files: 0, bytes: 0 }, 80)).toContain('100 %');
  });

  test('is drawn in place on a terminal, at most every 80 ms, and erased', () => {
    const written: string[] = [];
    const terminal = createTerminal(
      { write: () => true },
      { write: (text) => written.push(text), isTTY: true, columns: 60 },
    );
    let at = 0;
    const progress = transferProgress(terminal, 'up', { files: 1, bytes: 100 }, () => at);
    progress.advance(10);
    progress.advance(10);
    at = 100;
    progress.advance(10);
    progress.end();
    expect(written.map((text) => /\d+ %/.exec(text)?.[0] ?? text)).toEqual(['10 %', '30 %', '\r\u001b[K']);
  });
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [9_999, '10 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [3e15, '3000 TB'],
])('%i bytes are written %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
