/**
 * Static checks of the sources: format and lint, types, boundaries, dead code, contracts, OpenAPI, names, prose, licenses, vulnerabilities.
 * Prints one line per check and the findings of failed ones; exits with 1 if a check failed.
 */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const sources = ['services', 'libs', 'clients', 'deploy', 'test'];
const productionSources = ['services', 'libs', 'clients', 'deploy'];
const run = promisify(execFile);

const checks = [
  { name: 'format and lint', find: () => tool('biome', 'check', '--colors=off', '--error-on-warnings') },
  { name: 'types', find: () => tool('tsc', '-p', '.', '--noEmit', '--pretty', 'false') },
  { name: 'boundaries', find: () => tool('depcruise', ...sources, '--config', '.dependency-cruiser.mjs') },
  { name: 'folder cycles', find: folderCycles },
  { name: 'dead code', find: () => tool('knip', '--no-progress', '--no-config-hints') },
  { name: 'contracts: lint', find: () => tool('buf', 'lint', 'proto') },
  { name: 'contracts: breaking changes', find: breakingChanges },
  { name: 'OpenAPI', find: openapi },
  { name: 'names', find: grabBags },
  { name: 'prose', find: prose },
  { name: 'licenses', find: licenses },
  { name: 'known vulnerabilities', find: vulnerabilities },
];

const ALLOWED_LICENSE =
  /^(|MIT|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|CC0-1\.0|CC-BY-4\.0|Unlicense|PSF-2\.0|Python-2\.0|MPL-2\.0|EPL-2\.0|LGPL-3\.0-or-later)$/;
/** Of packages whose manifest has none. */
const LICENSES_IN_README = { 'combine-errors': 'MIT', 'seq-queue': 'MIT' };

const waiting = [...checks];
let failures = 0;
await Promise.all(Array.from({ length: availableParallelism() }, work));
process.stdout.write(
  failures === 0 ? 'All checks passed.\n' : `${failures} of ${checks.length} checks failed.\n`,
);
process.exitCode = failures === 0 ? 0 : 1;

async function work() {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const started = performance.now();
    const { findings, note = '' } = await check.find();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(`${findings === '' ? '✓' : '✗'} ${check.name} (${seconds} s)${note}\n`);
    if (findings === '') continue;
    failures += 1;
    process.stdout.write(`${findings}\n`);
  }
}

/** Runs an installed program. If it fails, its output is the findings. */
async function tool(name, ...args) {
  try {
    await run(join(root, 'node_modules', '.bin', name), args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    return { findings: '' };
  } catch (thrown) {
    return { findings: `${thrown.stdout ?? ''}${thrown.stderr ?? ''}`.trim() || thrown.message };
  }
}

/** Checks the document that the gateway serves, including the generated metadata fields. */
async function openapi() {
  const folder = await mkdtemp(join(tmpdir(), 'kr-openapi-'));
  try {
    const { realRoutes } = await import('../services/gateway/src/routes-fixture.ts');
    const { handler } = realRoutes().find(({ path }) => path === '/api/openapi.yaml');
    const { text } = await handler({});
    const file = join(folder, 'openapi.yaml');
    await writeFile(file, text);
    return await tool('redocly', 'lint', '--format=stylish', file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares with the contracts that users have: the landed main, else the last tag, else the commit before. */
async function breakingChanges() {
  const base = await landedCommit();
  if (base === undefined)
    return { findings: '', note: ': nothing to compare with, there is no earlier commit here' };
  const workDir = await mkdtemp(join(tmpdir(), 'kr-contracts-'));
  try {
    const archive = join(workDir, 'landed.tar');
    await git('archive', '--format=tar', '--output', archive, base, 'proto');
    const { findings } = await tool('buf', 'breaking', 'proto', '--against', `${archive}#subdir=proto`);
    return { findings, note: ` against ${base}` };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** Test files may use any folder of their package. */
function folderCycles() {
  const excluded = '(\\.test|-fixture)\\.ts$|/testing/|/gen/';
  return tool('depcruise', ...productionSources, '--config', '.folder-cycles.mjs', '--exclude', excluded);
}

async function landedCommit() {
  const head = await git('rev-parse', '--verify', '--quiet', 'HEAD');
  const tag = await git('describe', '--tags', '--abbrev=0', 'HEAD^');
  for (const candidate of ['origin/main', tag, 'HEAD^']) {
    const commit = candidate && (await git('rev-parse', '--verify', '--quiet', `${candidate}^{commit}`));
    if (commit && commit !== head && (await git('ls-tree', commit, 'proto'))) return candidate;
  }
  return undefined;
}

/** Undefined where there is no git, no repository, or nothing of that name. */
async function git(...args) {
  const done = await run('git', args, { cwd: root }).catch(() => undefined);
  return done?.stdout.trim();
}

async function prose() {
  const { checkProse } = await import('./prose/check-prose.ts');
  return { findings: checkProse().join('\n') };
}

/** Packages without a known license, or with one under which the image cannot be distributed. */
async function licenses() {
  const { billOfMaterials } = await import('./sbom.mjs');
  const { components } = billOfMaterials();
  const findings = components
    .filter(({ name, licenses: [{ expression, license } = {}] = [] }) => {
      const text = expression ?? license?.name ?? LICENSES_IN_README[name];
      return (
        text === undefined || !text.split(/ (?:OR|AND|and) |[()]/).every((id) => ALLOWED_LICENSE.test(id))
      );
    })
    .map(({ purl, licenses: found }) => `${purl}: ${found ? JSON.stringify(found[0]) : 'no license'}`);
  return { findings: findings.join('\n'), note: `: ${components.length} packages in the bill of materials` };
}

/** Severe ones of the packages that run in production. */
async function vulnerabilities() {
  const pnpm = join(root, '.toolchain/node_modules/pnpm/bin/pnpm.cjs');
  const options = { cwd: root, timeout: 20_000, maxBuffer: 64 * 1024 * 1024 };
  const done = await run(process.execPath, [pnpm, 'audit', '--prod', '--json'], options).catch(
    (error) => error,
  );
  const { advisories } = parseJson(done.stdout) ?? {};
  if (advisories === undefined) return { findings: '', note: ': skipped, the registry does not answer' };
  const findings = Object.values(advisories)
    .filter(({ severity }) => severity === 'high' || severity === 'critical')
    .map(({ module_name: name, severity, title, url }) => `${name}: ${severity}: ${title} (${url})`);
  return { findings: findings.join('\n') };
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Names of files without one clear purpose. */
async function grabBags() {
  const isGrabBag = (path) =>
    /^(utils?|helpers?|common|shared|misc|managers?)$/.test(basename(path).replace(/\..*$/, ''));
  const files = globSync(`{${sources.join(',')},scripts}/**/*`, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|gen)$/.test(path),
  });
  return { findings: files.filter(isGrabBag).join('\n') };
}
