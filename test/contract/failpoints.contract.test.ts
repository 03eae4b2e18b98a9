import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { FAILPOINTS } from '@kr/failpoint';

const repository = resolve(import.meta.dirname, '../..');
const CALLS = /\b(failpoint|around)\(\s*'([^']+)'/g;

/** Every failpoint that the services pass, as often as it is written down. */
function placed(): string[] {
  const sources = globSync('{services,libs}/*/src/**/*.ts', { cwd: repository }).filter(
    (file) => !file.startsWith('libs/failpoint/') && !/\.test\.ts$|\/gen\//.test(file),
  );
  return sources.flatMap((file) =>
    [...readFileSync(join(repository, file), 'utf8').matchAll(CALLS)].flatMap(([, how, name]) =>
      how === 'around' ? [`${name}.before`, `${name}.after`] : [`${name}`],
    ),
  );
}

test('every failpoint is placed, and placed once', () => {
  expect(placed().sort()).toEqual([...FAILPOINTS].sort());
});
