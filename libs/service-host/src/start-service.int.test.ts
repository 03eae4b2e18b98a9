import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPool, sqlOn } from '@kr/database';
import type { ServiceConfig } from '@kr/service-config';
import { createLogger } from '@kr/telemetry';
import { type FreshDatabase, freshDatabase } from '@kr/testbed';
import { type ServiceParts, startService } from './start-service.ts';

const logger = createLogger('test', { write: () => undefined });
let fresh: FreshDatabase;
let config: ServiceConfig;

beforeAll(async () => {
  fresh = await freshDatabase();
  config = {
    databaseUrl: new URL(fresh.url),
    grpcHost: '127.0.0.1',
    grpcPort: 0,
    healthPort: 0,
    callerKeys: new Map(),
  };
});

afterAll(() => fresh.drop());

/** A service that notes when its parts stop. */
function parts(stopped: string[], more: Partial<ServiceParts<[]>> = {}): ServiceParts<[]> {
  const pool = openPool(config.databaseUrl);
  return {
    services: [],
    database: sqlOn(pool),
    background: [{ stop: () => stopped.push('background') }],
    close: async () => {
      stopped.push('connections');
      await pool.end();
    },
    ...more,
  };
}

function start(changes: Partial<ServiceConfig>, open: () => ServiceParts<[]>) {
  return startService({ name: 'test', config: { ...config, ...changes }, schema: [], logger }, async () =>
    open(),
  );
}

async function readiness(port: number) {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`);
  return { status: response.status, body: await response.json() };
}

describe('startService', () => {
  test('is ready with its database and its own checks, and stops once, connections last', async () => {
    const stopped: string[] = [];
    let hasStorage = true;
    const service = await start({}, () =>
      parts(stopped, {
        checks: {
          storage: async () => {
            if (!hasStorage) throw new Error('no storage');
          },
        },
      }),
    );
    expect(await readiness(service.healthPort)).toEqual({
      status: 200,
      body: { status: 'ok', checks: { database: 'ok', storage: 'ok' } },
    });
    hasStorage = false;
    expect(await readiness(service.healthPort)).toMatchObject({
      status: 503,
      body: { checks: { database: 'ok', storage: 'failed' } },
    });
    await Promise.all([service.stop(), service.stop()]);
    expect(stopped).toEqual(['background', 'connections']);
  });

  test('closes everything it opened if a port is in use', async () => {
    const first = await start({}, () => parts([]));
    const stopped: string[] = [];
    await expect(start({ healthPort: first.healthPort }, () => parts(stopped))).rejects.toThrow('EADDRINUSE');
    expect(stopped).toEqual(['background', 'connections']);
    await first.stop();
  });
});
