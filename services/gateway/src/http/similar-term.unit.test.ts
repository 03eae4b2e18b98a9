import { expect, test } from '@jest/globals';
import { RELEASED_VOCABULARIES } from '@kr/metadata';
import { similarTerm } from './hints.ts';

test.each([
  ['languages', 'en', 'eng'],
  ['languages', 'xqzzy', undefined],
  ['languages', 'German', 'deu'],
  ['languages', 'fr', 'fra'],
  ['licenses', 'CC BY 4.0', 'cc-by-4.0'],
  ['resourcetypes', 'datasets', 'dataset'],
  ['resourcetypes', '', undefined],
  ['resourcetypes', '\u0000', undefined],
] as const)('in %s, %j may mean %j', (type, text, id) => {
  expect(similarTerm(RELEASED_VOCABULARIES, type, text)).toBe(id);
});
