import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runtimeFile } from './runtime-file.ts';

describe('runtime file', () => {
  let folder: string;
  let messages: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kr-runtime-'));
    messages = [];
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test('has the last state after many concurrent changes', async () => {
    const path = join(folder, 'runtime.json');
    const file = runtimeFile(path, (sentence) => messages.push(sentence));
    let state = 0;
    await file.open(() => state);
    for (state = 1; state < 20; state += 1) file.refresh();
    await file.open(() => state);
    expect({ content: await readFile(path, 'utf8'), files: await readdir(folder), messages }).toEqual({
      content: '20\n',
      files: ['runtime.json'],
      messages: [],
    });
  });

  test('is deleted when it is closed, even during a write', async () => {
    const file = runtimeFile(join(folder, 'runtime.json'), (sentence) => messages.push(sentence));
    void file.open(() => 1);
    file.refresh();
    await file.close();
    file.refresh();
    expect({ files: await readdir(folder), messages }).toEqual({ files: [], messages: [] });
  });

  test('reports a failed write, and continues', async () => {
    const file = runtimeFile(join(folder, 'nowhere', 'runtime.json'), (sentence) => messages.push(sentence));
    await file.open(() => 1);
    expect(messages).toEqual([expect.stringContaining('runtime.json cannot be written')]);
  });
});
