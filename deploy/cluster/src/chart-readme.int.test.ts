import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { findGoProgram } from '@kr/testbed';
import { CHART } from './testing/render-chart.ts';

const README = join(CHART, 'README.md');
const HELM_DOCS = {
  name: 'helm-docs',
  source: 'github.com/norwoodj/helm-docs/cmd/helm-docs',
  version: '1.14.2',
  probe: ['--help'],
  // Some minutes of processor time, which other tests share.
  buildMs: 1_800_000,
};

const found = await findGoProgram(HELM_DOCS).then(
  (path) => ({ path }),
  (error: unknown) => ({ missing: error instanceof Error ? error.message.slice(0, 200) : String(error) }),
);

if ('missing' in found) test.skip(`the README of the chart (${found.missing})`, () => {});
else
  test('the README of the chart lists its values: WRITE_CHART_README=1 npm test -- chart-readme', async () => {
    const args = [
      '--chart-search-root',
      CHART,
      '--sort-values-order',
      'file',
      '--skip-version-footer',
      '--dry-run',
    ];
    const { stdout } = await promisify(execFile)(found.path, args);
    if (process.env['WRITE_CHART_README'] === '1') await writeFile(README, stdout);
    expect(await readFile(README, 'utf8')).toBe(stdout);
  });
