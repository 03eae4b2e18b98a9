import { describe, expect, test } from '@jest/globals';
import { ConfigError, type Environment, EnvReader } from './index.ts';

const SECRET = 'x'.repeat(32);
const IT = { doc: 'what it is for' };
const or = <Value>(fallback: Value) => ({ ...IT, fallback });

function problemsOf(env: Environment, use: (read: EnvReader) => unknown): readonly string[] {
  const read = new EnvReader(env);
  use(read);
  try {
    read.done();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

describe('environment reader', () => {
  test('reads each type', () => {
    const read = new EnvReader({
      NAME: 'records',
      PORT: '0',
      DEEP: '-3',
      ON: 'true',
      OFF: '0',
      DATABASE_URL: 'postgres://u:p@h:5/db?x=1',
      FORMAT: 'json',
      HOSTS: ' a, b ,,c',
      ONE: 'records.svc:50051',
      BOTH: '10.0.0.1:5, 10.0.0.2:5',
      KEY: SECRET,
    });
    const values = {
      name: read.string('NAME', IT),
      port: read.integer('PORT', { ...IT, min: 0, max: 65_535 }),
      deep: read.integer('DEEP', { ...IT, min: -3, max: -3 }),
      on: read.boolean('ON', IT),
      off: read.boolean('OFF', or(true)),
      databaseUrl: read.url('DATABASE_URL', IT).href,
      format: read.choice('FORMAT', ['pretty', 'json'], IT),
      hosts: read.list('HOSTS', IT),
      one: read.addresses('ONE', IT),
      both: read.addresses('BOTH', IT),
      key: read.secret('KEY', IT),
    };
    read.done();
    expect(values).toEqual({
      name: 'records',
      port: 0,
      deep: -3,
      on: true,
      off: false,
      databaseUrl: 'postgres://u:p@h:5/db?x=1',
      format: 'json',
      hosts: ['a', 'b', 'c'],
      one: 'records.svc:50051',
      both: '10.0.0.1:5,10.0.0.2:5',
      key: SECRET,
    });
  });

  test('falls back where a variable is unset or empty', () => {
    const read = new EnvReader({ NAME: '', PORT: '' });
    const values = [
      read.string('NAME', or('records')),
      read.string('ABSENT', or('')),
      read.integer('PORT', { ...IT, fallback: 7, min: 0, max: 9 }),
      read.boolean('ON', or(false)),
      read.url('URL', or('nats://h:1')).href,
      read.choice('FORMAT', ['pretty', 'json'], or('json')),
      read.list('HOSTS', or([])),
    ];
    read.done();
    expect(values).toEqual(['records', '', 7, false, 'nats://h:1', 'json', []]);
  });

  test('reads a conditional group only if one of its variables is set', () => {
    const tryTo = (env: Environment) => {
      const read = new EnvReader(env);
      const user = read.whenSet(['NAME', 'PASSWORD'], () => read.string('NAME', IT));
      read.done();
      return user;
    };
    expect([tryTo({}), tryTo({ NAME: '' }), tryTo({ NAME: 'me' })]).toEqual([undefined, undefined, 'me']);
    expect(() => tryTo({ PASSWORD: 'p' })).toThrow('NAME is not set');
  });

  test('reports everything that is wrong in one go', () => {
    const env = {
      PORT: '70000',
      SIZE: '1.5',
      WAIT: '0x10',
      ON: 'yes',
      URL: 'no url',
      FORMAT: 'xml',
      KEY: 'short',
      PEERS: '10.0.0.1:5,records:5',
    };
    const problems = problemsOf(env, (read) => {
      read.string('NAME', IT);
      read.integer('PORT', { ...IT, min: 0, max: 65_535 });
      read.integer('SIZE', { ...IT, fallback: 1, min: 0, max: 9 });
      read.integer('WAIT', { ...IT, fallback: 1, min: 0, max: 99 });
      read.boolean('ON', or(true));
      read.url('URL', or('nats://h:1'));
      read.choice('FORMAT', ['pretty', 'json'], or('json'));
      read.list('HOSTS', IT);
      read.secret('KEY', IT);
      read.secret('OTHER_KEY', IT);
      read.addresses('PEERS', IT);
    });
    expect(problems).toEqual([
      'NAME is not set',
      'PORT is not a whole number from 0 to 65535',
      'SIZE is not a whole number from 0 to 9',
      'WAIT is not a whole number from 0 to 99',
      'ON is neither true nor false',
      'URL is not a URL',
      'FORMAT is none of pretty, json',
      'HOSTS is not set',
      'KEY is shorter than 32 characters',
      'OTHER_KEY is not set',
      'PEERS names several addresses, and not all are IPv4:port',
    ]);
  });

  test.each(['10.0.0.1,10.0.0.2:5', '10.0.0.1:5,10.0.0.2:', '10.0.0.1:5,10.0.0.2:70000', '10.0.0.1:5,'])(
    'takes no several addresses from %p',
    (PEERS) => {
      expect(problemsOf({ PEERS }, (read) => read.addresses('PEERS', IT))).toHaveLength(1);
    },
  );

  test('reads secrets by the names before them', () => {
    const read = new EnvReader({ KEYS: `gateway=${SECRET}, search=${SECRET}=` });
    const keys = read.namedSecrets('KEYS', IT);
    read.done();
    expect([...keys]).toEqual([
      ['gateway', SECRET],
      ['search', `${SECRET}=`],
    ]);
  });

  test.each([
    SECRET,
    'gateway=short',
    `gateway=${SECRET},`,
    `=${SECRET}`,
    `gateway=${SECRET},gateway=${SECRET}`,
  ])('takes no secrets from %p', (KEYS) => {
    expect(problemsOf({ KEYS }, (read) => read.namedSecrets('KEYS', IT))).toHaveLength(1);
  });

  test('never shows a secret', () => {
    expect(problemsOf({ KEY: 'hunter2' }, (read) => read.secret('KEY', IT)).join()).not.toContain('hunter2');
    const KEYS = 'gateway=hunter2,hunter3';
    expect(problemsOf({ KEYS }, (read) => read.namedSecrets('KEYS', IT)).join()).not.toMatch(/hunter/);
  });
});
