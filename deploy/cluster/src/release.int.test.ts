import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openHelm } from './testing/open-helm.ts';
import { pathOf } from './testing/render-chart.ts';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
const VERSION = '7.8.9';
let folder: string;
let checkout: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kr-release-'));
  checkout = join(folder, 'checkout');
  await run('git', ['clone', '--quiet', '--shared', '--no-tags', ROOT, checkout]);
  for (const [name, value] of [
    ['user.name', 'Tester'],
    ['user.email', 'tester@example.org'],
    ['commit.gpgsign', 'false'],
    ['tag.gpgsign', 'false'],
  ] as const)
    await run('git', ['config', name, value], { cwd: checkout });
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  await run('git', ['config', 'core.excludesFile', join(ROOT, '.gitignore')], { cwd: checkout });
  // The link itself is no folder, as .gitignore has it.
  await run('sh', ['-c', 'echo node_modules >> .git/info/exclude'], { cwd: checkout });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const release = (version: string) =>
  run(process.execPath, ['scripts/release.mjs', version], { cwd: checkout });
const show = async (file: string) =>
  (await run('git', ['show', `v${VERSION}:${file}`], { cwd: checkout })).stdout;

test('a release is tagged, has its version everywhere, and its part of the changelog', async () => {
  await expect(release('next')).rejects.toThrow('usage');
  await release(VERSION);
  for (const file of [
    'package.json',
    'services/gateway/package.json',
    'clients/kr/package.json',
    'codemeta.json',
  ])
    expect(JSON.parse(await show(file))).toMatchObject({ version: VERSION });
  expect(await show('CITATION.cff')).toContain(`\nversion: ${VERSION}\n`);
  const chart = await show('deploy/helm/knowledge-repository/Chart.yaml');
  expect(chart).toContain(`\nversion: ${VERSION}\nappVersion: ${VERSION}\n`);
  const { stdout: left } = await run(
    'git',
    [
      'grep',
      '-nE',
      '^ *"?(version|appVersion)"?: "?0\\.1\\.0"?,?$',
      '--',
      '*.json',
      '*.cff',
      'deploy/helm',
      'services/gateway/openapi.yaml',
      ':!deploy/local/toolchain',
    ],
    {
      cwd: checkout,
    },
  ).catch((error: { stdout: string }) => error);
  expect(left).toBe('');
  expect(await show('CHANGELOG.md')).toMatch(/\n## Unreleased\n\n## 7\.8\.9 \(\d{4}-\d\d-\d\d\)\n\n### /);
  // Nothing was added since.
  await expect(release('7.9.0')).rejects.toThrow('no entries under Unreleased');
});

test('its chart, image context, kr and bill of materials are packed, with their digests', async () => {
  const dist = join(checkout, 'dist');
  const files = [
    'SHA256SUMS',
    `image-context-${VERSION}.tar.gz`,
    `knowledge-repository-${VERSION}.tgz`,
    `kr-client-${VERSION}.tgz`,
    `sbom-${VERSION}.cdx.json`,
  ];
  expect((await readdir(dist)).sort()).toEqual(files);
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: dist });
  const { stdout } = await run('tar', ['-tzf', join(dist, `image-context-${VERSION}.tar.gz`)]);
  for (const file of ['deploy/image/Dockerfile', 'pnpm-lock.yaml', 'scripts/sbom.mjs', 'LICENSE'])
    expect(stdout.split('\n')).toContain(`knowledge-repository-${VERSION}/${file}`);
  const sbom = JSON.parse(await readFile(join(dist, `sbom-${VERSION}.cdx.json`), 'utf8'));
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    metadata: { component: { version: VERSION } },
  });
  expect(sbom.components).toContainEqual(
    expect.objectContaining({ type: 'library', name: 'express', licenses: [{ expression: 'MIT' }] }),
  );
});

test('Helm takes the packed chart', async () => {
  const helm = await openHelm();
  if ('missing' in helm) return;
  const chart = join(checkout, 'dist', `knowledge-repository-${VERSION}.tgz`);
  const rendered = await helm.template(chart, ['-f', pathOf('knowledge-repository/ci/default-values.yaml')]);
  expect(rendered).toContain(`image: "registry.example.org/knowledge/knowledge-repository:${VERSION}"`);
});
