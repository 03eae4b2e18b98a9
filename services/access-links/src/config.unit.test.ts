import { describe, expect, test } from '@jest/globals';
import { readConfig } from './config.ts';

const secret = (letter: string) => letter.repeat(32);
const complete = {
  DATABASE_URL: 'postgres://localhost/access_links',
  NATS_URL: 'nats://localhost:4222',
  CALLER_KEYS: `gateway=${secret('i')}`,
  ACCESS_LINKS_TICKET_KEY: secret('t'),
  LINK_TOKEN_KEY: secret('l'),
};

describe('configuration', () => {
  test('is read from the environment', () => {
    const env = {
      ...complete,
      GRPC_PORT: '50053',
      LINK_TOKEN_PREVIOUS_KEYS: `${secret('a')}, ${secret('b')}`,
    };
    expect(readConfig(env)).toEqual({
      databaseUrl: new URL(complete.DATABASE_URL),
      natsUrl: new URL(complete.NATS_URL),
      grpcHost: '127.0.0.1',
      grpcPort: 50_053,
      healthPort: 0,
      callerKeys: new Map([['gateway', secret('i')]]),
      ticketKey: secret('t'),
      linkTokenKey: secret('l'),
      previousLinkTokenKeys: [secret('a'), secret('b')],
      maxLinksPerEntity: 1_000,
    });
  });

  test('names everything that is missing', () => {
    expect(() => readConfig({ LINK_TOKEN_KEY: 'short' })).toThrow(
      /DATABASE_URL.*CALLER_KEYS.*NATS_URL.*ACCESS_LINKS_TICKET_KEY.*LINK_TOKEN_KEY is shorter/s,
    );
  });
});
