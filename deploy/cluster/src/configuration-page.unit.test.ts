import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { configurationPage } from './configuration-page.ts';
import { logVariables, serviceVariables } from './service-variables.ts';

const PAGE = resolve(import.meta.dirname, '../../../docs/configuration.md');

test('docs/configuration.md lists the variables of the services: npm run deploy -- configuration', async () => {
  const page = configurationPage({
    services: serviceVariables(),
    ofEveryProcess: logVariables(),
  });
  expect(await readFile(PAGE, 'utf8')).toBe(page);
});

test('a conditional variable is listed with its condition', () => {
  const files = serviceVariables().get('files') ?? [];
  const about = (wanted: string) => files.find(({ name }) => name === wanted);
  expect(about('STORAGE_DIR')).toMatchObject({
    isRequired: true,
    when: [{ name: 'FILES_STORE', value: 'filesystem' }],
  });
  expect(about('S3_SECRET_ACCESS_KEY')).toMatchObject({
    isSecret: true,
    when: [{ name: 'FILES_STORE', value: 's3' }, { name: 'S3_ACCESS_KEY_ID' }],
  });
});
