import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { checkMetadata, documentedFields, RELEASED_VOCABULARIES } from '@kr/metadata';
import { metadataPage } from './metadata-page.ts';

const PAGE = resolve(import.meta.dirname, '../../../docs/metadata.md');

test('docs/metadata.md lists the fields of the schema: npm run deploy -- metadata', async () => {
  expect(await readFile(PAGE, 'utf8')).toBe(metadataPage(documentedFields()));
});

test('its example has no problems', () => {
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(metadataPage(documentedFields())) ?? [];
  expect(
    checkMetadata(JSON.parse(example).metadata, 'record', {
      strict: true,
      vocabularies: RELEASED_VOCABULARIES,
    }).issues,
  ).toEqual([]);
});

test('a field without a meaning is an error', () => {
  expect(() => metadataPage([{ path: 'mood', type: 'text', isRequired: false }])).toThrow('mood');
});
