import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startSystem, type TestSystem } from '@kr/testbed/system';
import type { Entity, FilesListing } from './story/answers.ts';
import { recordDocument } from './story/documents.ts';
import { EXAMPLE_FOLDERS } from './story/example-package.ts';
import { type HttpClient, httpClient } from './story/http-client.ts';
import { link, publish } from './story/stories.ts';

const run = promisify(execFile);
const kr = resolve(import.meta.dirname, '../../clients/kr/src/main.ts');

/** What holds where operators say nothing. */
const DEFAULTS = { RATE_LIMIT_ANONYMOUS: '500', RATE_LIMIT_USER: '1000' };

let system: TestSystem;
beforeAll(async () => {
  system = await startSystem({ environment: DEFAULTS });
});
afterAll(() => system?.stop());

async function newUser(name: string): Promise<{ token: string; client: HttpClient }> {
  const { token } = await system.createUser(name);
  return { token, client: httpClient(system.baseUrl, token) };
}

describe('limits of rates', () => {
  test('let a deposit of a hundred files through, however fast it is', async () => {
    const { client } = await newUser('depositor');
    const json = recordDocument('A hundred files', { withFiles: true });
    const draft = await client.sure<Entity>('POST', '/records', { json });
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    for (const start of numbers.filter((number) => number % 10 === 0)) {
      await Promise.all(
        numbers.slice(start, start + 10).map(async (number) => {
          const key = `${number}.txt`;
          await client.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
          const file = `${link(draft, 'files')}/${key}`;
          await client.sure('PUT', `${file}/content`, { bytes: Buffer.from(key) });
          await client.sure('POST', `${file}/commit`);
        }),
      );
    }
    expect((await publish(client, draft)).is_published).toBe(true);
  });

  test('stop who asks without end, and nobody else; the command-line client waits and goes on', async () => {
    const hasty = await newUser('hasty');
    const seen = new Map<number, number>();
    let refusal: Response | undefined;
    const asking = async (): Promise<void> => {
      while (refusal === undefined) {
        const headers = { authorization: `Bearer ${hasty.token}` };
        const answer = await fetch(`${system.baseUrl}/api/ping`, { headers });
        await answer.arrayBuffer();
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        if (answer.status === 429) refusal = answer;
      }
    };
    await Promise.all(Array.from({ length: 16 }, asking));
    // As many as may come at once, and what the time that it took has added.
    expect(seen.get(200)).toBeGreaterThanOrEqual(2_000);
    expect([...seen.keys()].sort()).toEqual([200, 429]);
    expect(refusal?.headers.get('retry-after')).toBe('1');

    const other = await newUser('other');
    expect((await other.client.call('GET', '/user/records')).status).toBe(200);
    expect((await fetch(`${system.baseUrl}/api/ping`)).status).toBe(200);

    const [folder = ''] = EXAMPLE_FOLDERS;
    const env = { PATH: process.env['PATH'], KR_BASE_URL: system.baseUrl, KR_TOKEN: hasty.token };
    const load = [kr, 'package', 'load', folder, '--publish', '--json'];
    const { stdout } = await run(process.execPath, load, { env, timeout: 120_000 });
    expect(JSON.parse(stdout)).toMatchObject({ package: { id: expect.any(String) } });
  });
});
