import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { writePart } from './part.ts';
import { copyObjects } from './stored-objects.ts';

const ID = '0b5c6a5e-5a3d-4c55-9d0e-3f6e2b1c7a11';
const PLACE = join('objects', ID.slice(0, 2), ID.slice(2, 4), ID);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stored-objects-'));
  await mkdir(dirname(join(folder, 'from', PLACE)), { recursive: true });
  await writeFile(join(folder, 'from', PLACE), 'bytes');
  await writePart(folder, 'files/objects.tsv.gz', [`${[ID, 5, 'md5:-', 'needed'].join('\t')}\n`]);
});
afterEach(() => rm(folder, { recursive: true }));

test('a repeated restore replaces the objects and leaves no other files', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  for (const _ of ['first', 'again'])
    expect(await copyObjects(folder, { from, to, onObject: () => {} })).toEqual([]);
  expect(await readFile(join(to, PLACE), 'utf8')).toBe('bytes');
  expect(await readdir(dirname(join(to, PLACE)))).toEqual([ID]);
});
