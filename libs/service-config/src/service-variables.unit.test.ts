import { expect, test } from '@jest/globals';
import {
  ConfigError,
  checkPrefixes,
  type Environment,
  PREFIX_FIELDS,
  readEnvironment,
  variables,
} from './index.ts';

function problemsOf(env: Environment): readonly string[] {
  try {
    readEnvironment(env, variables(PREFIX_FIELDS, checkPrefixes));
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

test.each<[string, Environment, string[]]>([
  ['are required', {}, ['DOI_PREFIX is not set', 'OAI_PREFIX is not set']],
  ['may be those of an institution', { DOI_PREFIX: '10.1234', OAI_PREFIX: 'data.example.org' }, []],
  ['may have parts', { DOI_PREFIX: '10.1234.5', OAI_PREFIX: 'data.example.org' }, []],
  [
    'have a form',
    { DOI_PREFIX: 'doi:10.1234', OAI_PREFIX: 'data example' },
    [
      'DOI_PREFIX is not a DOI prefix such as 10.1234',
      'OAI_PREFIX is not a domain name such as repository.example.org',
    ],
  ],
  [
    'for tests are refused',
    { DOI_PREFIX: '10.5072', OAI_PREFIX: 'localhost' },
    [
      'DOI_PREFIX is 10.5072, which is for tests; set ALLOW_TEST_IDENTIFIERS to use it',
      'OAI_PREFIX is localhost, which is for tests; set ALLOW_TEST_IDENTIFIERS to use it',
    ],
  ],
  [
    'for tests are accepted on request',
    { DOI_PREFIX: '10.5072', OAI_PREFIX: 'localhost', ALLOW_TEST_IDENTIFIERS: 'true' },
    [],
  ],
])('the prefixes of identifiers %s', (_rule, env, problems) => {
  expect(problemsOf(env)).toEqual(problems);
});
