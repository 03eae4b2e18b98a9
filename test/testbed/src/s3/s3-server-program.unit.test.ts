import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '@kr/local-stack/backends';
import { findS3Server } from './s3-server-program.ts';

const PATH = process.env['PATH'];
let programs: string;
let folder: string;
beforeEach(async () => {
  programs = await mkdtemp(join(tmpdir(), 'programs-'));
  folder = await mkdtemp(join(tmpdir(), 'toolchain-'));
  process.env['PATH'] = `${programs}:/usr/bin:/bin`;
});
afterEach(async () => {
  process.env['PATH'] = PATH;
  for (const one of [programs, folder]) await rm(one, { recursive: true });
});

/** An installed compiler that runs these commands to build. */
async function installGo(building: string): Promise<void> {
  const path = join(programs, 'go');
  await writeFile(path, `#!/bin/sh\n[ "$1" = version ] && exit 0\n${building}\n`);
  await chmod(path, 0o755);
}

const WORKING = `printf '#!/bin/sh\\necho built\\n' > "$GOBIN/versitygw" && chmod +x "$GOBIN/versitygw"`;

test('concurrent callers build a server once', async () => {
  await installGo(`echo built >> "$GOBIN/../builds"; ${WORKING}`);
  const kept = join(folder, 'versitygw-1.8.0', 'versitygw');
  expect(await Promise.all([1, 2, 3].map(() => findS3Server({ folder })))).toEqual([kept, kept, kept]);
  expect((await readdir(folder)).sort()).toEqual(['builds', 'versitygw-1.8.0']);
  expect(await readFile(join(folder, 'builds'), 'utf8')).toBe('built\n');
});

test('a failed build is reported with its reason and leaves no files', async () => {
  await installGo('echo "cannot fetch the module" >&2; exit 1');
  await expect(findS3Server({ folder })).rejects.toThrow('cannot fetch the module');
  expect(await readdir(folder)).toEqual([]);
});

test('an aborted build leaves no files, and neither does a caller that waits for it', async () => {
  await installGo('exec sleep 600');
  const ending = new AbortController();
  const finding = [1, 2].map(() => findS3Server({ folder, signal: ending.signal }));
  const outcomes = Promise.allSettled(finding);
  await until(async () => (await readdir(folder)).some((name) => name.startsWith('build-')));
  ending.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await readdir(folder)).toEqual([]);
});
