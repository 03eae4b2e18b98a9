import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const repository = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Violation {
  from: string;
  rule: string;
}

/** A small workspace that follows the rules. */
const SOUND = {
  'services/records/src/drafts.ts': 'export const drafts = 1;\n',
  'services/packages/src/main.ts':
    "import { serve } from '../../../libs/rpc/src/index.ts';\nexport const main = serve;\n",
  'services/packages/src/package-rules.ts': 'export const rules = 1;\n',
  'libs/rpc/src/index.ts': "export { serve } from './serve.ts';\n",
  'libs/rpc/src/serve.ts': 'export const serve = 1;\n',
  'libs/metadata/src/index.ts': 'export const metadata = 1;\n',
  'clients/kr/src/main.ts': 'export const client = 1;\n',
  'test/testbed/src/index.ts': 'export const testbed = 1;\n',
  'deploy/local/src/main.ts': 'export const start = 1;\n',
};

const PLANTED = [
  {
    importer: 'services/packages/src/of-a-service.ts',
    imported: '../../records/src/drafts.ts',
    rule: 'services-never-import-services',
  },
  {
    importer: 'libs/rpc/src/of-a-service.ts',
    imported: '../../../services/records/src/drafts.ts',
    rule: 'libs-never-import-services',
  },
  {
    importer: 'services/records/src/of-an-inside.ts',
    imported: '../../../libs/rpc/src/serve.ts',
    rule: 'only-the-index-of-a-lib',
  },
  {
    importer: 'libs/event-bus/src/of-an-inside.ts',
    imported: '../../rpc/src/serve.ts',
    rule: 'only-the-index-of-a-lib-for-other-libs',
  },
  {
    importer: 'clients/kr/src/of-a-lib.ts',
    imported: '../../../libs/rpc/src/index.ts',
    rule: 'clients-know-the-public-api-only',
  },
  { importer: 'services/records/src/file-rules.ts', imported: 'node:fs', rule: 'rules-are-pure' },
  {
    importer: 'services/records/src/calling-saga.ts',
    imported: '../../../libs/rpc/src/index.ts',
    rule: 'rules-know-no-backend',
  },
  {
    importer: 'libs/metadata/src/of-a-backend.ts',
    imported: '../../rpc/src/index.ts',
    rule: 'rules-know-no-backend',
  },
  {
    importer: 'services/records/src/of-a-test.ts',
    imported: '../../../test/testbed/src/index.ts',
    rule: 'tests-are-nobodys-dependency',
  },
  { importer: 'services/packages/src/of-nowhere.ts', imported: './nowhere.ts', rule: 'resolvable' },
  { importer: 'services/packages/src/of-a-bag.ts', imported: './utils/text.ts', rule: 'no-grab-bags' },
  { importer: 'services/packages/src/circle.ts', imported: './utils/text.ts', rule: 'no-cycles' },
];

/** Two folders that import from each other, without a cycle of files. */
const FOLDER_CYCLE = {
  'libs/rpc/src/client/call.ts': "export type * from '../server/codes.ts';\n",
  'libs/rpc/src/client/deadline.ts': 'export const deadline = 1;\n',
  'libs/rpc/src/server/serve.ts': "export type * from '../client/deadline.ts';\n",
  'libs/rpc/src/server/codes.ts': 'export const codes = 1;\n',
};

async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
}

async function cruise(folder: string, config = '.dependency-cruiser.mjs'): Promise<Violation[]> {
  const program = join(repository, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const options = ['--config', config, '--output-type', 'json'];
  const { stdout } = await run(
    process.execPath,
    [program, 'services', 'libs', 'clients', 'deploy', 'test', ...options],
    { cwd: folder, maxBuffer: 16 * 1024 * 1024 },
  ).catch((thrown: { stdout: string }) => thrown);
  const report: { summary: { violations: { from: string; rule: { name: string } }[] } } = JSON.parse(stdout);
  return report.summary.violations.map(({ from, rule }) => ({ from, rule: rule.name }));
}

describe('boundaries', () => {
  let folder: string;
  let whenSound: Violation[];
  let whenPlanted: Violation[];
  let foldersWhenSound: Violation[];
  let foldersWhenPlanted: Violation[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-boundaries-'));
    for (const file of ['.dependency-cruiser.mjs', '.folder-cycles.mjs', 'tsconfig.json'])
      await cp(join(repository, file), join(folder, file));
    await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
    await write(folder, SOUND);
    whenSound = await cruise(folder);
    foldersWhenSound = await cruise(folder, '.folder-cycles.mjs');
    await write(folder, { 'services/packages/src/utils/text.ts': "export type * from '../circle.ts';\n" });
    const lines = PLANTED.map(({ importer, imported }) => [importer, `export type * from '${imported}';\n`]);
    await write(folder, Object.fromEntries(lines));
    whenPlanted = await cruise(folder);
    await write(folder, FOLDER_CYCLE);
    foldersWhenPlanted = await cruise(folder, '.folder-cycles.mjs');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('allow a workspace that follows them', () => {
    expect(whenSound).toEqual([]);
  });

  test.each(PLANTED)('$rule: $importer may not import $imported, not even types', ({ importer, rule }) => {
    expect(whenPlanted).toContainEqual({ from: importer, rule });
  });

  test('no two folders of a package import from each other', () => {
    expect(foldersWhenSound).toEqual([]);
    expect(foldersWhenPlanted).toContainEqual({ from: 'libs/rpc/src/client', rule: 'no-folder-cycles' });
  });
});
