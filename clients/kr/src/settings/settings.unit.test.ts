import { describe, expect, test } from '@jest/globals';
import { type Login, settingsFrom } from './settings.ts';

const from = 'here';
const stored: Login = { baseUrl: 'https://stored.example', token: 'stored', from };
const local: Login = { baseUrl: 'http://127.0.0.1:5000', token: 'local', from };

describe('settings', () => {
  test.each<{
    name: string;
    options?: Omit<Login, 'from'>;
    environment?: Omit<Login, 'from'>;
    stored?: Login[];
    link?: string;
    expected: [string, string | undefined];
  }>([
    {
      name: 'are the stored login',
      stored: [stored, local],
      expected: ['https://stored.example/', 'stored'],
    },
    {
      name: 'are the local system, without a login',
      stored: [{ from }, local],
      expected: ['http://127.0.0.1:5000/', 'local'],
    },
    {
      name: 'are the environment before what is kept',
      environment: { baseUrl: 'https://e.example', token: 'e' },
      stored: [stored],
      expected: ['https://e.example/', 'e'],
    },
    {
      name: 'are options before all',
      options: { baseUrl: 'https://g.example', token: 'g' },
      environment: { baseUrl: 'https://e.example', token: 'e' },
      stored: [stored],
      expected: ['https://g.example/', 'g'],
    },
    {
      name: 'have no token of another service',
      options: { baseUrl: 'https://g.example' },
      stored: [stored, local],
      expected: ['https://g.example/', undefined],
    },
    {
      name: 'have the kept token of a service that is named again',
      options: { baseUrl: 'https://STORED.example/?x' },
      stored: [stored],
      expected: ['https://stored.example/', 'stored'],
    },
    {
      name: 'are another person at the kept service',
      environment: { token: 'e' },
      stored: [stored],
      expected: ['https://stored.example/', 'e'],
    },
    {
      name: 'are the service of a link, without a token of the environment or of another service',
      environment: { token: 'e' },
      stored: [stored],
      link: 'https://l.example/repo',
      expected: ['https://l.example/repo', undefined],
    },
    {
      name: 'are the local system that a link names otherwise',
      stored: [stored, local],
      link: 'http://localhost:5000',
      expected: ['http://127.0.0.1:5000/', 'local'],
    },
    {
      name: 'are the environment before a link',
      environment: { baseUrl: 'https://e.example', token: 'e' },
      link: 'https://l.example',
      expected: ['https://e.example/', 'e'],
    },
  ])('$name', ({ options = {}, environment = {}, stored = [], link, expected }) => {
    const { baseUrl, token } = settingsFrom({
      options: { ...options, from },
      environment: { ...environment, from },
      stored: stored,
      link,
    });
    expect([baseUrl.href, token]).toEqual(expected);
  });

  test('must name a service', () => {
    expect(() =>
      settingsFrom({ options: { from }, environment: { token: 'e', from }, stored: [{ from }] }),
    ).toThrow('No repository is configured.');
  });

  test.each(['host', 'ftp://h', 'localhost:5000', ''])('refuse the base URL %j', (baseUrl) => {
    expect(() => settingsFrom({ options: { baseUrl, from }, environment: { from }, stored: [] })).toThrow(
      'is not a base URL',
    );
  });
});
