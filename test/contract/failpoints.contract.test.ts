import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { FAILPOINTS } from '@kr/failpoint';

const repository = resolve(import.meta.dirname, '../..');
const CALLS = /\b(failpoint|around)\(\s*'([^']+)'/g;

/** Stores that replace the file system's. */
const STAND_INS = 'services/files/src/blob/s3-*.ts';

/** Every failpoint that these sources pass, as often as it is written down. */
function placed(pattern: string, but: readonly string[] = []): string[] {
  const sources = globSync(pattern, { cwd: repository }).filter(
    (file) => !but.includes(file) && !file.startsWith('libs/failpoint/') && !/\.test\.ts$|\/gen\//.test(file),
  );
  return sources.flatMap((file) =>
    [...readFileSync(join(repository, file), 'utf8').matchAll(CALLS)].flatMap(([, how, name]) =>
      how === 'around' ? [`${name}.before`, `${name}.after`] : [`${name}`],
    ),
  );
}

test('every failpoint is placed, and placed once', () => {
  const standIns = globSync(STAND_INS, { cwd: repository });
  expect(placed('{services,libs}/*/src/**/*.ts', standIns).sort()).toEqual([...FAILPOINTS].sort());
});

test('a store that replaces the file system passes the same failpoints', () => {
  const ofFileSystem = placed('services/files/src/blob/filesystem-blob-store.ts');
  expect(ofFileSystem.length).toBeGreaterThan(0);
  expect([...new Set(placed(STAND_INS))].sort()).toEqual(ofFileSystem.sort());
});
