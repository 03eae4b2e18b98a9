import { afterEach, describe, expect, test } from '@jest/globals';
import { type Health, type HealthOptions, startHealth } from './start-health.ts';

let health: Health | undefined;

afterEach(async () => {
  await health?.stop();
  await health?.stop();
});

async function probe(path: string, checks: HealthOptions['checks']) {
  health = await startHealth({ host: '127.0.0.1', port: 0, checks, checkTimeoutMs: 20 });
  const response = await fetch(`http://127.0.0.1:${health.port}${path}`);
  return { status: response.status, body: await response.json() };
}

const fine = async () => {};
const broken = async () => {
  throw new Error('secret detail');
};
const brokenAtOnce = () => {
  throw new Error('secret detail');
};
const silent = () => new Promise<void>(() => {});

describe('health', () => {
  test.each<{ name: string; path: string; checks: HealthOptions['checks']; answer: unknown }>([
    {
      name: 'lives regardless of its dependencies',
      path: '/livez',
      checks: { bus: broken },
      answer: { status: 200, body: { status: 'ok' } },
    },
    {
      name: 'is ready without dependencies',
      path: '/readyz',
      checks: {},
      answer: { status: 200, body: { status: 'ok', checks: {} } },
    },
    {
      name: 'is ready when every check passes',
      path: '/readyz?verbose',
      checks: { database: fine, bus: fine },
      answer: { status: 200, body: { status: 'ok', checks: { database: 'ok', bus: 'ok' } } },
    },
    {
      name: 'names what is missing and not why',
      path: '/readyz',
      checks: { database: fine, bus: broken, files: brokenAtOnce, search: silent },
      answer: {
        status: 503,
        body: {
          status: 'unavailable',
          checks: { database: 'ok', bus: 'failed', files: 'failed', search: 'timed out' },
        },
      },
    },
    {
      name: 'knows no other path',
      path: '/',
      checks: {},
      answer: { status: 404, body: { status: 'unknown' } },
    },
  ])('$name', async ({ path, checks, answer }) => {
    expect(await probe(path, checks)).toEqual(answer);
  });

  test('is ready when only an informational check fails', async () => {
    health = await startHealth({
      host: '127.0.0.1',
      port: 0,
      checks: { database: fine },
      informationalChecks: { bus: broken },
    });
    const response = await fetch(`http://127.0.0.1:${health.port}/readyz`);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 200,
      body: { status: 'ok', checks: { database: 'ok', bus: 'failed' } },
    });
  });

  test('fails if the port is in use', async () => {
    health = await startHealth({ host: '127.0.0.1', port: 0, checks: {} });
    await expect(startHealth({ host: '127.0.0.1', port: health.port, checks: {} })).rejects.toThrow(
      'EADDRINUSE',
    );
  });
});
