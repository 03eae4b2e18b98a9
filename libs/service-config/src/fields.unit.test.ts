import { describe, expect, test } from '@jest/globals';
import { addresses, namedSecrets } from './fields.ts';
import {
  boolean,
  ConfigError,
  type Environment,
  integer,
  list,
  oneOf,
  optional,
  readEnvironment,
  type Section,
  secret,
  text,
  url,
  variables,
  whenSet,
} from './index.ts';

const SECRET = 'x'.repeat(32);
const IT = { doc: 'what it is for' };
const or = <Value>(fallback: Value) => ({ ...IT, fallback });

function problemsOf(env: Environment, section: Section<unknown>): readonly string[] {
  try {
    readEnvironment(env, section);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
}

describe('variables', () => {
  test('have types', () => {
    const env = {
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
    };
    const section = variables({
      NAME: text(IT),
      PORT: integer({ ...IT, min: 0, max: 65_535 }),
      DEEP: integer({ ...IT, min: -3, max: -3 }),
      ON: boolean(IT),
      OFF: boolean(or(true)),
      DATABASE_URL: url(IT),
      FORMAT: oneOf(['pretty', 'json'], IT),
      HOSTS: list(IT),
      ONE: addresses(IT),
      BOTH: addresses(IT),
      KEY: secret(IT),
    });
    expect(readEnvironment(env, section)).toEqual({
      NAME: 'records',
      PORT: 0,
      DEEP: -3,
      ON: true,
      OFF: false,
      DATABASE_URL: new URL('postgres://u:p@h:5/db?x=1'),
      FORMAT: 'json',
      HOSTS: ['a', 'b', 'c'],
      ONE: 'records.svc:50051',
      BOTH: '10.0.0.1:5,10.0.0.2:5',
      KEY: SECRET,
    });
  });

  test('have their default if they are unset or empty', () => {
    const section = variables({
      NAME: text(or('records')),
      ABSENT: text(or('')),
      PORT: integer({ ...IT, fallback: 7, min: 0, max: 9 }),
      ON: boolean(or(false)),
      URL: url(or(new URL('nats://h:1'))),
      FORMAT: oneOf(['pretty', 'json'], or('json')),
      HOSTS: list(or([])),
      NOTHING: optional(text(IT)),
    });
    expect(Object.values(readEnvironment({ NAME: '', PORT: '', NOTHING: '' }, section))).toEqual([
      'records',
      '',
      7,
      false,
      new URL('nats://h:1'),
      'json',
      [],
    ]);
  });

  test('of a conditional section are read only if one of its triggers is set', () => {
    const section = whenSet(['NAME', 'PASSWORD'], variables({ NAME: text(IT) }));
    const read = (env: Environment) => readEnvironment(env, section)?.NAME;
    expect([read({}), read({ NAME: '' }), read({ NAME: 'me' })]).toEqual([undefined, undefined, 'me']);
    expect(() => read({ PASSWORD: 'p' })).toThrow('NAME is not set');
  });

  test('have all their problems reported at once', () => {
    const env = {
      PORT: '70000',
      SIZE: '1.5',
      WAIT: '0x10',
      ON: 'yes',
      URL: 'no url',
      FORMAT: 'xml',
      KEY: 'short',
      PEERS: '10.0.0.1:5,records:5',
      EVEN: '3',
    };
    const section = variables({
      NAME: text(IT),
      PORT: integer({ ...IT, min: 0, max: 65_535 }),
      SIZE: integer({ ...IT, fallback: 1, min: 0, max: 9 }),
      WAIT: integer({ ...IT, fallback: 1, min: 0, max: 99 }),
      ON: boolean(or(true)),
      URL: url(or(new URL('nats://h:1'))),
      FORMAT: oneOf(['pretty', 'json'], or('json')),
      HOSTS: list(IT),
      KEY: secret(IT),
      OTHER_KEY: secret(IT),
      PEERS: addresses(IT),
      EVEN: integer({ ...IT, min: 0, max: 9, check: (value) => (value % 2 === 0 ? undefined : 'is odd') }),
    });
    expect(problemsOf(env, section)).toEqual([
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
      'EVEN is odd',
    ]);
  });

  test.each(['10.0.0.1,10.0.0.2:5', '10.0.0.1:5,10.0.0.2:', '10.0.0.1:5,10.0.0.2:70000', '10.0.0.1:5,'])(
    'with several addresses reject %p',
    (PEERS) => {
      expect(problemsOf({ PEERS }, variables({ PEERS: addresses(IT) }))).toHaveLength(1);
    },
  );

  test('may be secrets by name', () => {
    const env = { KEYS: `gateway=${SECRET}, search=${SECRET}=` };
    expect([...readEnvironment(env, variables({ KEYS: namedSecrets(IT) })).KEYS]).toEqual([
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
  ])('with secrets by name reject %p', (KEYS) => {
    expect(problemsOf({ KEYS }, variables({ KEYS: namedSecrets(IT) }))).toHaveLength(1);
  });

  test('never contain a secret', () => {
    expect(problemsOf({ KEY: 'hunter2' }, variables({ KEY: secret(IT) })).join()).not.toContain('hunter2');
    const KEYS = 'gateway=hunter2,hunter3';
    expect(problemsOf({ KEYS }, variables({ KEYS: namedSecrets(IT) })).join()).not.toMatch(/hunter/);
  });
});
