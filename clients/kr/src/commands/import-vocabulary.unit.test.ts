import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Terminal } from '../terminal/terminal.ts';
import { importVocabulary } from './import-vocabulary.ts';

let folder: string;
let printed: string[];
const terminal = {
  print: (text: string) => printed.push(text),
  note: () => undefined,
} as unknown as Terminal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kr-vocabulary-'));
  printed = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

async function imported(type: string, name: string, content: string): Promise<unknown> {
  writeFileSync(join(folder, name), content);
  await importVocabulary(terminal, type, join(folder, name), { json: true, dataDirs: [folder] });
  return JSON.parse(printed.at(-1) ?? '');
}

const stored = (type: string) =>
  JSON.parse(readFileSync(join(folder, 'vocabularies', `${type}.json`), 'utf8'));

describe('kr admin vocabulary import', () => {
  test('imports CSV, with languages and props in columns', async () => {
    const report = await imported(
      'geowptypes',
      'activities.csv',
      'id,title,title__de,props__group,tags\ngeo-own,Own work,Eigenes,water,sdg-goal-6; sdg-goal-13\n,No id,,,\n',
    );
    expect(report).toEqual({
      type: 'geowptypes',
      added: 1,
      replaced: 0,
      refused: [{ entry: 2, reason: 'id must be 1 to 255 characters' }],
    });
    expect(stored('geowptypes')).toEqual([
      {
        id: 'geo-own',
        tags: ['sdg-goal-6', 'sdg-goal-13'],
        title: { en: 'Own work', de: 'Eigenes' },
        props: { group: 'water' },
      },
    ]);
  });

  test('imports YAML, then JSON: existing ids are replaced, other entries stay', async () => {
    await imported('subjects', 'a.yaml', '- id: one\n  title: {en: One}\n- id: two\n  title: {en: Two}\n');
    const report = await imported(
      'subjects',
      'b.json',
      '[{"id": "two", "title": {"en": "Zwei"}}, {"id": "two", "title": {"en": "x"}}, 7]',
    );
    expect(report).toEqual({
      type: 'subjects',
      added: 0,
      replaced: 1,
      refused: [
        { entry: 2, reason: 'duplicate id two' },
        { entry: 3, reason: 'must be an object' },
      ],
    });
    expect(stored('subjects')).toEqual([
      { id: 'one', title: { en: 'One' } },
      { id: 'two', title: { en: 'Zwei' } },
    ]);
  });

  test.each([
    ['no such vocabulary', 'colours', 'a.json', '[]', /there is no vocabulary "colours"/],
    ['no list', 'subjects', 'a.json', '{}', /must be a \.csv file/],
    ['no JSON', 'subjects', 'a.json', '[', /cannot be parsed/],
    ['nothing but unusable entries', 'subjects', 'a.csv', 'a,b\n1,2\n', /entry 1: id must be/],
    ['another kind of file', 'subjects', 'a.txt', 'x', /must be a \.csv file/],
  ])('refuses %s', async (_name, type, name, content, message) => {
    await expect(imported(type, name, content)).rejects.toThrow(message);
  });
});
