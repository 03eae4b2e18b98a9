import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runtimeFile } from './runtime-file.ts';

describe('runtime file', () => {
  let folder: string;
  let said: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-runtime-'));
    said = [];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test('has the last state after many concurrent changes', async () => {
    const path = join(folder, 'runtime.json');
    const file = runtimeFile(path, (sentence) => said.push(sentence));
    let state = 0;
    await file.open(() => state);
    for (state = 1; state < 20; state += 1) file.refresh();
    await file.open(() => state);
    expect({ content: await readFile(path, 'utf8'), files: await readdir(folder), said }).toEqual({
      content: '20\n',
      files: ['runtime.json'],
      said: [],
    });
  });

  test('is deleted when it is closed, even during a write', async () => {
    const file = runtimeFile(join(folder, 'runtime.json'), (sentence) => said.push(sentence));
    void file.open(() => 1);
    file.refresh();
    await file.close();
    file.refresh();
    expect({ files: await readdir(folder), said }).toEqual({ files: [], said: [] });
  });

  test('reports a failed write, and continues', async () => {
    const file = runtimeFile(join(folder, 'nowhere', 'runtime.json'), (sentence) => said.push(sentence));
    await file.open(() => 1);
    expect(said).toEqual([expect.stringContaining('runtime.json cannot be written')]);
  });
});
