import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ERROR_KINDS, type ErrorKind } from '@kr/service-error';

const ROOT = join(import.meta.dirname, '../..');

const CODE = /\bcode: '([a-z]+(?:_[a-z]+)*)'/g;
/** An error that is constructed, or kept as data. */
const KIND = /new ServiceError\(\s*'([a-z_]+)'|\bkind: '([a-z_]+)'/g;

/** Maximum distance of a kind before its code, in characters. */
const REACH = 400;

interface Thrown {
  code: string;
  kind: string | undefined;
  file: string;
}

const OURS = /\.ts$/;
/** Codes of zod. */
const OF_LIBRARIES = new Set(['custom']);
const NOT_THROWN = /^gen\/|\/gen\/|testing\/|\.test\.ts$/;

async function sources(): Promise<string[]> {
  const files: string[] = [];
  for (const folder of ['libs', 'services']) {
    for (const part of await readdir(join(ROOT, folder))) {
      const src = join(folder, part, 'src');
      const names = await readdir(join(ROOT, src), { recursive: true });
      files.push(
        ...names.filter((name) => OURS.test(name) && !NOT_THROWN.test(name)).map((name) => join(src, name)),
      );
    }
  }
  return files;
}

async function findThrown(): Promise<Thrown[]> {
  const texts = await Promise.all(
    (await sources()).map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })),
  );
  // A kind is the code of an error without a more specific one.
  return texts
    .flatMap(({ file, text }) =>
      [...text.matchAll(CODE)].map(({ index, 1: code = '' }) => {
        const kinds = [...text.slice(Math.max(0, index - REACH), index).matchAll(KIND)];
        const [, thrown, kept] = kinds.at(-1) ?? [];
        return { code, kind: thrown ?? kept, file };
      }),
    )
    .filter(({ code }) => !(code in ERROR_KINDS) && !OF_LIBRARIES.has(code));
}

let allThrown: Promise<Thrown[]> | undefined;
function thrownCodes(): Promise<Thrown[]> {
  allThrown ??= findThrown();
  return allThrown;
}

/** First and second column of the tables below a heading. */
async function documented(heading: string): Promise<Map<string, number>> {
  const text = await readFile(join(ROOT, 'docs/errors.md'), 'utf8');
  const [, rest = ''] = text.split(`## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  const rows = section.matchAll(/^\| `(?<name>[a-z_]+)` \| (?<status>\d+) \|/gm);
  return new Map([...rows].map(({ groups }) => [groups?.['name'] ?? '', Number(groups?.['status'])]));
}

/** Codes of statuses that only HTTP knows. */
async function httpCodes(): Promise<Map<string, number>> {
  const text = await readFile(join(ROOT, 'services/gateway/src/http/error-response.ts'), 'utf8');
  return new Map(
    [...text.matchAll(/^ {2}(\d{3}): '([a-z_]+)',$/gm)].map(([, status, code = '']) => [
      code,
      Number(status),
    ]),
  );
}

describe('docs/errors.md', () => {
  test('lists every kind of error with its status, and no other', async () => {
    const kinds = Object.entries(ERROR_KINDS).map(([kind, { http }]): [string, number] => [kind, http]);
    expect(Object.fromEntries(await documented('Kinds'))).toEqual(Object.fromEntries(kinds));
  });

  test('lists every code that is thrown, and no other', async () => {
    const thrown = new Set([...(await thrownCodes()).map(({ code }) => code), ...(await httpCodes()).keys()]);
    expect([...(await documented('Codes')).keys()].sort()).toEqual([...thrown].sort());
  });

  test('gives each code the status of the kind that it is thrown with', async () => {
    const documentedStatus = await documented('Codes');
    const wrong = (await thrownCodes()).filter(({ code, kind }) => {
      const status = kind === undefined ? undefined : ERROR_KINDS[kind as ErrorKind]?.http;
      return status !== undefined && status !== documentedStatus.get(code);
    });
    expect(wrong).toEqual([]);
    for (const [code, status] of await httpCodes())
      expect([code, documentedStatus.get(code)]).toEqual([code, status]);
  });

  test('has its codes in order, each once', async () => {
    const text = await readFile(join(ROOT, 'docs/errors.md'), 'utf8');
    const codes = [...(text.split('## Codes\n')[1] ?? '').matchAll(/^\| `([a-z_]+)` \|/gm)].map(
      ([, code]) => code,
    );
    expect(codes).toEqual([...new Set(codes)].sort());
  });
});

describe('messages to clients', () => {
  test('name no variables of the configuration', async () => {
    const page = await readFile(join(ROOT, 'docs/configuration.md'), 'utf8');
    const variables = [...page.matchAll(/^\| `([A-Z0-9_]+)`/gm)].map(([, name = '']) => name);
    expect(variables).toContain('MAX_FILE_BYTES');
    // Operators read these.
    const clientSources = (await sources()).filter(
      (file) => !/config(-page)?\.ts$|libs\/service-config\//.test(file),
    );
    const found: string[] = [];
    for (const file of clientSources) {
      const text = await readFile(join(ROOT, file), 'utf8');
      const literals = [...text.replaceAll(/\$\{[^}]*\}/g, '').matchAll(/'[^'\n]*'|`[^`]*`/g)].map(String);
      for (const literal of literals) {
        const named = variables.find((name) => new RegExp(`[ (]${name}\\b`).test(literal));
        if (named !== undefined) found.push(`${file}: ${literal}`);
      }
    }
    expect(found).toEqual([]);
  });
});
