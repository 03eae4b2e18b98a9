import { describe, expect, test } from '@jest/globals';
import { parseStartOptions } from './options.ts';

describe('start options', () => {
  test.each([
    { args: [], options: { dataDir: '.data', port: 8080, logLevel: 'info', demoUser: true } },
    {
      args: ['--data-dir', '/x', '--port=9000', '--log-level', 'debug', '--no-demo-user'],
      options: { dataDir: '/x', port: 9000, logLevel: 'debug', demoUser: false },
    },
  ])('reads $args', ({ args, options }) => {
    expect(parseStartOptions(args, () => undefined)).toEqual(options);
  });

  test('prints help', () => {
    const printed: string[] = [];
    const help = () => parseStartOptions(['--help', '--port', '9000'], (text) => printed.push(text));
    expect(help).toThrow(expect.objectContaining({ exitCode: 0 }));
    expect(printed.join('')).toContain('Usage: npm start --');
  });

  test.each([
    {
      args: ['--port', '0'],
      message: "option '--port <port>' argument '0' is invalid. Expected a number from 1 to 65535.",
    },
    { args: ['--port', '8e3'], message: "argument '8e3' is invalid. Expected a number from 1 to 65535." },
    { args: ['--port', '65536'], message: "argument '65536' is invalid. Expected a number from 1 to 65535." },
    {
      args: ['--log-level', 'loud'],
      message: "argument 'loud' is invalid. Allowed choices are trace, debug, info, warn, error.",
    },
    { args: ['--prot', '1'], message: "unknown option '--prot'" },
    { args: ['there'], message: 'too many arguments' },
  ])('refuses $args', ({ args, message }) => {
    const printed: string[] = [];
    expect(() => parseStartOptions(args, (text) => printed.push(text))).toThrow(message);
    expect(printed.join('')).toContain('"npm start -- --help" lists the options.');
  });
});
