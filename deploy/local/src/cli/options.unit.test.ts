import { describe, expect, test } from '@jest/globals';
import { parseStartOptions } from './options.ts';

describe('start options', () => {
  test.each([
    { args: [], options: { dataDir: '.data', port: 8080, logLevel: 'info', demoUser: true } },
    {
      args: ['--data-dir', '/x', '--port=9000', '--log-level', 'debug', '--no-demo-user'],
      options: { dataDir: '/x', port: 9000, logLevel: 'debug', demoUser: false },
    },
    { args: ['--help', '--port', '9000'], options: undefined },
  ])('reads $args', ({ args, options }) => {
    expect(parseStartOptions(args)).toEqual(options);
  });

  test.each([
    { args: ['--port', '0'], message: '--port must be a number from 1 to 65535, not "0".' },
    { args: ['--port', '8e3'], message: '--port must be a number from 1 to 65535, not "8e3".' },
    { args: ['--port', '65536'], message: '--port must be a number from 1 to 65535, not "65536".' },
    {
      args: ['--log-level', 'loud'],
      message: '--log-level must be one of trace, debug, info, warn, error, not "loud".',
    },
    { args: ['--prot', '1'], message: "Unknown option '--prot'" },
    { args: ['there'], message: 'Unexpected argument' },
  ])('refuses $args', ({ args, message }) => {
    expect(() => parseStartOptions(args)).toThrow(message);
  });
});
