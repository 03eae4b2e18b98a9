import { expect, test } from '@jest/globals';
import { describeVariables, type Environment, EnvReader } from './index.ts';

function readConfig(env: Environment) {
  const read = new EnvReader(env);
  read.integer('PORT', { doc: 'a port', fallback: 1, min: 0, max: 9 });
  read.secret('KEY', { doc: 'a key' });
  if (read.choice('STORE', ['disk', 'cloud'], { doc: 'a store', fallback: 'disk' }) === 'disk') {
    read.string('FOLDER', { doc: 'a folder' });
  } else {
    read.whenSet(['USER', 'PASSWORD'], () => [
      read.string('USER', { doc: 'a user' }),
      read.string('PASSWORD', { doc: 'a password', isSecret: true }),
    ]);
  }
  read.done();
}

test('each variable is reported, with the conditions for reading it, though nothing is set', () => {
  const told = describeVariables(readConfig).map(({ name, isRequired, isSecret, when }) => ({
    name,
    is: [isRequired ? 'required' : 'optional', ...(isSecret ? ['secret'] : [])].join(', '),
    when: when.map(({ name, value }) => `${name}=${value ?? '…'}`).join(),
  }));
  expect(told).toEqual([
    { name: 'PORT', is: 'optional', when: '' },
    { name: 'KEY', is: 'required, secret', when: '' },
    { name: 'STORE', is: 'optional', when: '' },
    { name: 'FOLDER', is: 'required', when: 'STORE=disk' },
    { name: 'USER', is: 'optional', when: 'STORE=cloud' },
    { name: 'PASSWORD', is: 'required, secret', when: 'STORE=cloud,USER=…' },
  ]);
});

test('a defect of a configuration is no property of the environment', () => {
  expect(() =>
    describeVariables(() => {
      throw new TypeError('a defect');
    }),
  ).toThrow('a defect');
});
