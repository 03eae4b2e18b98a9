/**
 * Everything a machine can say about the sources: format and lint, types, boundaries, dead code, contracts, OpenAPI, names.
 * Prints one line for each check and what a failed one found; exits with 1 when any found something.
 */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '..');
const sources = ['services', 'libs', 'clients', 'deploy', 'test'];
const run = promisify(execFile);

const checks = [
  { name: 'format and lint', find: () => tool('biome', 'check', '--colors=off', '--error-on-warnings') },
  { name: 'types', find: () => tool('tsc', '-p', '.', '--noEmit', '--pretty', 'false') },
  { name: 'boundaries', find: () => tool('depcruise', ...sources, '--config', '.dependency-cruiser.mjs') },
  { name: 'dead code', find: () => tool('knip', '--no-progress', '--no-config-hints') },
  { name: 'contracts: lint', find: () => tool('buf', 'lint', 'proto') },
  { name: 'contracts: breaking changes', find: breakingChanges },
  { name: 'OpenAPI', find: openapi },
  { name: 'names', find: grabBags },
];

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

/** Runs an installed program; what it prints is what it found, if it does not exit with 0. */
async function tool(name, ...args) {
  try {
    await run(join(root, 'node_modules', '.bin', name), args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    return { findings: '' };
  } catch (thrown) {
    return { findings: `${thrown.stdout ?? ''}${thrown.stderr ?? ''}`.trim() || thrown.message };
  }
}

/** The description that the gateway serves, metadata fields included. */
async function openapi() {
  const folder = await mkdtemp(join(tmpdir(), 'kr-openapi-'));
  try {
    const { openapiYaml } = await import('../services/gateway/src/site/openapi.ts');
    const { text } = await openapiYaml()({});
    const file = join(folder, 'openapi.yaml');
    await writeFile(file, text);
    return await tool('redocly', 'lint', '--format=stylish', file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Compares with what users already have: the landed main, else the last tag, else the commit before. */
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

/** A module is named after its idea; these names say that it has none. */
async function grabBags() {
  const isGrabBag = (path) =>
    /^(utils?|helpers?|common|shared|misc|managers?)$/.test(basename(path).replace(/\..*$/, ''));
  const files = globSync(`{${sources.join(',')},scripts}/**/*`, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|gen)$/.test(path),
  });
  return { findings: files.filter(isGrabBag).join('\n') };
}
