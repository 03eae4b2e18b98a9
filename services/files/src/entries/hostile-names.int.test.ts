import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'content-disposition';
import { type FilesUnderTest, GATEWAY, refusalOf, startFilesUnderTest } from '../testing/files-under-test.ts';

let files: FilesUnderTest;
beforeAll(async () => {
  files = await startFilesUnderTest();
});
afterAll(() => files.stop());

const TRAVERSALS = [
  '../',
  '..\\',
  '/',
  '\\',
  './',
  '.\\',
  'a/',
  'a\\',
  '../../../',
  '..\\..\\',
  '//',
  'C:\\',
  '%2e%2e/',
];
const TARGETS = ['', 'x', 'etc/passwd', '..', '.env', 'a.txt/'];
const CONTROLS = [...Array(0x20).keys(), 0x7f, ...Array.from({ length: 0x20 }, (_, index) => 0x80 + index)];

const DIRECTIONS = [
  0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
];

/** Invalid names of files. */
const REFUSED = [
  '',
  '.',
  '..',
  ...TRAVERSALS.flatMap((before) => TARGETS.map((target) => `${before}${target}`)),
  ...CONTROLS.map((code) => `a${String.fromCodePoint(code)}b.txt`),
  ...DIRECTIONS.map((code) => `a${String.fromCodePoint(code)}gpj.exe`),
  'a\r\nset-cookie: b=c',
  '\0',
  'a.txt\0.png',
  'lone \ud83d surrogate',
  'lone \udc00 surrogate',
  'replaced \ufffd',
  'x'.repeat(256),
  'x'.repeat(10_000),
  'é'.repeat(128),
  '名'.repeat(86),
  '😀'.repeat(64),
];

const RESERVED = [
  'CON',
  'nul',
  'aux.txt',
  'COM1',
  'LPT9.log',
  'PRN',
  '$MFT',
  '.htaccess',
  '.git',
  'Thumbs.db',
  'desktop.ini',
];
const ENCODED = [
  '%2f',
  '%2F..',
  '%2e%2e%2f',
  '%252f',
  '%00',
  '%0d%0a',
  '%',
  '%zz',
  '%c0%af',
  '&#47;',
  '\\u002f'.slice(1),
];
const SPECIAL = [
  '...',
  '.. ',
  ' ',
  '  a',
  'a ',
  'a.',
  '~',
  '~root',
  '-rf *',
  '$(id)',
  '`id`',
  '$HOME',
  'a;b',
  'a|b',
  'a&b',
];
const MARKUP = [
  '<script>alert(1)<script>',
  '"><img src=x>',
  "it's",
  'a"b',
  'a b',
  'a,b',
  'a=b',
  "';drop table entry;--",
  '{{7*7}}',
];
const WORDS = [
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'content',
  'commit',
  'tus',
  'NaN',
  'true',
  '0',
  '-1',
];
const ADDRESSES = [
  'a?b',
  'a#b',
  'a:b',
  'http:example',
  'a@b',
  'a+b',
  '?',
  '#',
  '*',
  'a*b',
  '[a]',
  '(a)',
  '!',
  '^',
  'a\u00a0b',
];
const MARKS = [0x200b, 0x200c, 0x200d, 0x2060];
const OTHERS = [
  0xfeff, 0xfffe, 0xffff, 0x1f600, 0x10ffff, 0x2028, 0x2029, 0x0301, 0x1f1e7, 0x20000, 0xe0001, 0xfe0f,
];
const LONGEST = ['x'.repeat(255), `${'é'.repeat(127)}x`, '名'.repeat(85), `${'😀'.repeat(63)}abc`];
const COMPOSED = ['\u00e9', 'e\u0301', '\u212b', '\u00c5', 'ﬁ', 'fi', 'ß', 'SS', 'İ', 'i\u0307'];

/** Unusual but valid names. */
const TAKEN = [
  ...RESERVED,
  ...ENCODED,
  ...SPECIAL,
  ...MARKUP,
  ...WORDS,
  ...ADDRESSES,
  ...[...MARKS, ...OTHERS].map((code) => `a${String.fromCodePoint(code)}gpj.exe`),
  ...LONGEST,
  ...COMPOSED,
  // A letter of every script, and some symbols.
  ...Array.from({ length: 240 }, (_, index) => `${String.fromCodePoint(0xa1 + index * 211)}.bin`),
];

describe('a hostile name', () => {
  test('is one of five hundred', () => {
    expect(new Set([...REFUSED, ...TAKEN]).size).toBeGreaterThanOrEqual(500);
  });

  test('is refused, or returned unchanged', async () => {
    const refusals = await inGroups(REFUSED, (key) => refusalOf(files.start('hostile-0001', key)));
    for (const [index, refusal] of refusals.entries())
      expect([REFUSED[index], refusal]).toEqual([
        REFUSED[index],
        expect.objectContaining({ kind: 'invalid' }),
      ]);
    expect(await files.list('hostile-0001')).toEqual([]);

    const started = await files.start('hostile-0001', ...TAKEN);
    expect(started.map(({ key }) => key)).toEqual(TAKEN);
    const ticket = files.ticket('hostile-0001');
    await inGroups(TAKEN, async (key) => {
      expect([key, (await files.put('hostile-0001', key, `bytes of ${key}`)).status]).toEqual([key, 200]);
      const { entry } = await files.client.commitUpload({ ticket, key }, GATEWAY, { timeoutMs: 60_000 });
      expect(entry?.key).toBe(key);
      const got = await files.get('hostile-0001', key);
      expect([got.status, String(got.body)]).toEqual([200, `bytes of ${key}`]);
      const disposition = got.headers['content-disposition'] ?? '';
      if (disposition !== 'inline') expect(savedAs(disposition)).toBe(key);
    });
    const { objects, tmp } = await files.storedFiles();
    expect(tmp).toEqual([]);
    for (const name of objects) expect(name).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test('names nothing that can be written to or read when it was refused', async () => {
    const sendable = REFUSED.filter((key) => key.isWellFormed());
    const answers = await inGroups(sendable, async (key) => [
      (await files.put('hostile-0001', key, 'x')).status,
      (await files.get('hostile-0001', key)).status,
    ]);
    expect(new Set(answers.flat())).toEqual(new Set([404]));
  });
});

/** The name in the header, as a browser's parser reads it. */
function savedAs(disposition: string): string | undefined {
  return parse(disposition).parameters['filename'];
}

/** A few at a time. */
async function inGroups<Result>(
  keys: readonly string[],
  work: (key: string) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < keys.length; from += 10)
    results.push(...(await Promise.all(keys.slice(from, from + 10).map(work))));
  return results;
}
