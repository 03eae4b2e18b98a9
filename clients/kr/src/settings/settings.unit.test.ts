import { describe, expect, test } from '@jest/globals';
import { type Login, settingsFrom } from './settings.ts';

const from = 'here';
const stored: Login = { baseUrl: 'https://stored.example', token: 'stored', from };
const local: Login = { baseUrl: 'http://127.0.0.1:5000', token: 'local', from };

describe('settings', () => {
  test.each<{
    name: string;
    given?: Omit<Login, 'from'>;
    environment?: Omit<Login, 'from'>;
    kept?: Login[];
    link?: string;
    expected: [string, string | undefined];
  }>([
    { name: 'are the stored login', kept: [stored, local], expected: ['https://stored.example/', 'stored'] },
    {
      name: 'are the local system, without a login',
      kept: [{ from }, local],
      expected: ['http://127.0.0.1:5000/', 'local'],
    },
    {
      name: 'are the environment before what is kept',
      environment: { baseUrl: 'https://e.example', token: 'e' },
      kept: [stored],
      expected: ['https://e.example/', 'e'],
    },
    {
      name: 'are options before all',
      given: { baseUrl: 'https://g.example', token: 'g' },
      environment: { baseUrl: 'https://e.example', token: 'e' },
      kept: [stored],
      expected: ['https://g.example/', 'g'],
    },
    {
      name: 'have no token of another service',
      given: { baseUrl: 'https://g.example' },
      kept: [stored, local],
      expected: ['https://g.example/', undefined],
    },
    {
      name: 'have the kept token of a service that is named again',
      given: { baseUrl: 'https://STORED.example/?x' },
      kept: [stored],
      expected: ['https://stored.example/', 'stored'],
    },
    {
      name: 'are another person at the kept service',
      environment: { token: 'e' },
      kept: [stored],
      expected: ['https://stored.example/', 'e'],
    },
    {
      name: 'are the service of a link, without a token of the environment or of another service',
      environment: { token: 'e' },
      kept: [stored],
      link: 'https://l.example/repo',
      expected: ['https://l.example/repo', undefined],
    },
    {
      name: 'are the local system that a link names otherwise',
      kept: [stored, local],
      link: 'http://localhost:5000',
      expected: ['http://127.0.0.1:5000/', 'local'],
    },
    {
      name: 'are the environment before a link',
      environment: { baseUrl: 'https://e.example', token: 'e' },
      link: 'https://l.example',
      expected: ['https://e.example/', 'e'],
    },
  ])('$name', ({ given = {}, environment = {}, kept = [], link, expected }) => {
    const { baseUrl, token } = settingsFrom({
      given: { ...given, from },
      environment: { ...environment, from },
      kept,
      link,
    });
    expect([baseUrl.href, token]).toEqual(expected);
  });

  test('must name a service', () => {
    expect(() =>
      settingsFrom({ given: { from }, environment: { token: 'e', from }, kept: [{ from }] }),
    ).toThrow('No service is known.');
  });

  test.each(['host', 'ftp://h', 'localhost:5000', ''])('refuse the base URL %j', (baseUrl) => {
    expect(() => settingsFrom({ given: { baseUrl, from }, environment: { from }, kept: [] })).toThrow(
      'is not a base URL',
    );
  });
});
