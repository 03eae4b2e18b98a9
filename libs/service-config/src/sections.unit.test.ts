import { expect, test } from '@jest/globals';
import { choice, group, integer, readEnvironment, secret, text, variables, whenSet } from './index.ts';

const SECTION = group({
  service: variables({
    PORT: integer({ doc: 'a port', fallback: 1, min: 0, max: 9 }),
    KEY: secret({ doc: 'a key' }),
  }),
  store: choice(
    'STORE',
    {
      disk: variables({ FOLDER: text({ doc: 'a folder' }) }),
      cloud: group({
        login: whenSet(
          ['USER', 'PASSWORD'],
          variables({
            USER: text({ doc: 'a user' }),
            PASSWORD: text({ doc: 'a password', isSecret: true }),
          }),
        ),
      }),
    },
    { doc: 'a store', fallback: 'disk' },
  ),
});
const KEY = 'x'.repeat(32);

test('each variable is described, with the conditions for reading it', () => {
  const described = SECTION.describe().map(({ name, isRequired, isSecret, when }) => ({
    name,
    is: [isRequired ? 'required' : 'optional', ...(isSecret ? ['secret'] : [])].join(', '),
    when: when.map((condition) => `${condition.name}=${condition.value ?? '…'}`).join(),
  }));
  expect(described).toEqual([
    { name: 'PORT', is: 'optional', when: '' },
    { name: 'KEY', is: 'required, secret', when: '' },
    { name: 'STORE', is: 'optional', when: '' },
    { name: 'FOLDER', is: 'required', when: 'STORE=disk' },
    { name: 'USER', is: 'optional', when: 'STORE=cloud' },
    { name: 'PASSWORD', is: 'required, secret', when: 'STORE=cloud,USER=…' },
  ]);
});

test('the choice decides which variables are read', () => {
  expect(readEnvironment({ KEY, FOLDER: '/bytes' }, SECTION).store).toEqual({
    kind: 'disk',
    FOLDER: '/bytes',
  });
  expect(readEnvironment({ KEY, STORE: 'cloud' }, SECTION).store).toEqual({
    kind: 'cloud',
    login: undefined,
  });
  expect(readEnvironment({ KEY, STORE: 'cloud', USER: 'me', PASSWORD: 'p' }, SECTION).store).toEqual({
    kind: 'cloud',
    login: { USER: 'me', PASSWORD: 'p' },
  });
});

test('problems of all sections are reported at once', () => {
  const problems = (env: Record<string, string>) => () => readEnvironment(env, SECTION);
  expect(problems({})).toThrow(/KEY is not set.*FOLDER is not set/s);
  expect(problems({ KEY, STORE: 'tape' })).toThrow('STORE is none of disk, cloud');
  expect(problems({ KEY, STORE: 'cloud', PASSWORD: 'p' })).toThrow('USER is not set');
});
