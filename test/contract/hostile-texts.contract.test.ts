import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { beforeAll, expect, test } from '@jest/globals';
import { parse } from '@swc/core';

const ROOT = join(import.meta.dirname, '../..');
const READ_BY_NOBODY_ELSE = /\/gen\/|\/testing\/|-fixture\.ts$|\.test\.ts$/;

/** Those whose text cannot be hostile, and why. */
const TRUSTED: Readonly<Record<string, string>> = {
  'services/gateway/src/http/body.ts: "(?:[^"\\\\]|\\\\.)*"|[{}[\\]:,]':
    'of JSON that was parsed, every text ends',
  'services/gateway/src/http/request-shape.ts: \\/+$': 'of the configuration',
  'services/gateway/src/files/content-client.ts: \\/+$': 'of the configuration',
};

/** Inputs that make a backtracking expression slow when repeated a hundred thousand times. */
const PUMPS = [
  ...[
    ' ',
    '\t',
    '\n',
    '0',
    'a',
    'A',
    '/',
    '"',
    '\\',
    '<',
    '-',
    '.',
    ',',
    ';',
    ':',
    '=',
    '[',
    '(',
    '%',
    "'",
    '*',
    '~',
  ],
  ...[
    '<A',
    '<a ',
    '"\\',
    '\\"',
    '0.',
    'a.',
    'a-',
    ';a=',
    'a=',
    ',a',
    '0-',
    '/a',
    'a b',
    '&a',
    '\u6f22',
    'e\u0301',
  ],
];
const TEXTS = PUMPS.flatMap((pump) => {
  const pumped = pump.repeat(100_000 / pump.length);
  return [`${pumped}\u0000`, `\u0000${pumped}\u0000`];
});
/** A slower expression is not linear: linear ones take milliseconds. */
const TOO_LONG_MS = 20_000;

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

let expressions: Expression[];

async function sources(): Promise<string[]> {
  const files: string[] = [];
  for (const group of ['libs', 'services']) {
    for (const part of await readdir(join(ROOT, group))) {
      const folder = join(group, part, 'src');
      const names = await readdir(join(ROOT, folder), { recursive: true });
      files.push(...names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name)));
    }
  }
  return files.filter((file) => !READ_BY_NOBODY_ELSE.test(file));
}

function literalsIn(node: unknown): { pattern: string; flags: string }[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('type' in node && node.type === 'RegExpLiteral') return [node as unknown as Expression];
  return Object.values(node).flatMap(literalsIn);
}

beforeAll(async () => {
  const found = await Promise.all(
    (await sources()).map(async (file) => {
      const text = await readFile(join(ROOT, file), 'utf8');
      if (!text.includes('/')) return [];
      const module = await parse(text, { syntax: 'typescript', target: 'es2024' });
      return literalsIn(module).map(({ pattern, flags }) => ({ file, pattern, flags }));
    }),
  );
  expressions = found.flat();
});

const nameOf = ({ file, pattern }: Expression) => `${file}: ${pattern}`;

// Of another realm than the test, so no instance of its Error.
function isTimeout(thrown: unknown): boolean {
  return (thrown as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

function isQuick({ pattern, flags }: Expression): boolean {
  const all = 'const e = new RegExp(pattern, flags); for (const text of texts) text.replace(e, "")';
  try {
    runInNewContext(all, { pattern, flags, texts: TEXTS }, { timeout: TOO_LONG_MS });
    return true;
  } catch (thrown) {
    if (isTimeout(thrown)) return false;
    throw thrown;
  }
}

test('every expression of libs and services is found', () => {
  expect(expressions.length).toBeGreaterThan(100);
  expect(Object.keys(TRUSTED).filter((name) => !expressions.some((one) => nameOf(one) === name))).toEqual([]);
});

test('none that sees what users send takes longer for a hostile text than once over it', () => {
  const asked = expressions.filter((expression) => TRUSTED[nameOf(expression)] === undefined);
  expect(asked.filter((expression) => !isQuick(expression)).map(nameOf)).toEqual([]);
});
