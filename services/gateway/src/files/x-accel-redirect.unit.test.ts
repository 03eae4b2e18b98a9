import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../config.ts';
import type { Call } from '../http/endpoint.ts';
import { MINIMAL_ENVIRONMENT } from '../minimal-environment-fixture.ts';
import { xAccelRedirect } from './file-content.ts';

const ON = { FILES_X_ACCEL: 'true', TRUSTED_PROXIES: '10.0.0.0/8' };

describe('files for front proxies', () => {
  test.each([
    ['without a proxy that is trusted', { ...ON, TRUSTED_PROXIES: '' }, /TRUSTED_PROXIES is empty/],
    ['in an unknown way', { ...ON, FILES_X_ACCEL: 'x-sendfile' }, /neither true nor false/],
  ])('%s are a mistake', (_name, env, problem) => {
    expect(() => readConfig({ ...MINIMAL_ENVIRONMENT, ...env })).toThrow(problem);
  });

  const proxied = { 'x-accel-support': 'x-accel-redirect' };
  test.each<[string | undefined, Record<string, string>, Record<string, string>, boolean]>([
    ['10.1.2.3', proxied, {}, true],
    ['::ffff:10.1.2.3', proxied, {}, true],
    ['10.1.2.3', {}, {}, false],
    ['10.1.2.3', { 'x-accel-support': 'x-sendfile' }, {}, false],
    ['192.0.2.1', proxied, {}, false],
    [undefined, proxied, {}, false],
    ['10.1.2.3', proxied, { FILES_X_ACCEL: 'false' }, false],
  ])('are offered to %p with %j, configured by %j: %p', (peer, headers, changed, isOffered) => {
    const xAccel = xAccelRedirect(readConfig({ ...MINIMAL_ENVIRONMENT, ...ON, ...changed }));
    const call = { peer, headers } as unknown as Call;
    expect(xAccel.offered(call)).toEqual(isOffered ? { 'kr-x-accel': 'path' } : {});
  });

  test('are named by their place only where the files service has named one', () => {
    const { headers } = xAccelRedirect(readConfig({ ...MINIMAL_ENVIRONMENT, ...ON }));
    const answer = { status: 200, body: Readable.from([]) };
    expect(headers({ ...answer, headers: { etag: '"a"', 'kr-stored-path': 'objects/ab/cd/id' } })).toEqual({
      etag: '"a"',
      'x-accel-redirect': '/stored-files/objects/ab/cd/id',
    });
    expect(headers({ ...answer, headers: { etag: '"a"' } })).toEqual({ etag: '"a"' });
  });
});
