// Runs a task of this project on Linux or macOS with Node 18 or later and npm. Plain JavaScript, no
// dependencies: it installs the pinned Node and pnpm if they are missing, installs packages, generates code,
// then starts the task. Its messages go to stderr, so that stdout contains only the task's output.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './file-lock.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const TOOLCHAIN = join(ROOT, '.toolchain');
const PINS = join(ROOT, 'deploy/local/toolchain');
const NODE = join(TOOLCHAIN, 'node');
const MIN_NODE = 24;

/** `needs` names what has to be there first; `inCallersFolder` tasks take paths relative to where npm was called. */
const TASKS = {
  prepare: { needs: 'code' },
  start: {
    needs: 'code',
    file: 'deploy/local/src/main.ts',
    flags: ['--max-semi-space-size=1', '--max-old-space-size=128', '--expose-gc'],
  },
  test: { needs: 'code', file: 'test/main.ts' },
  'test-model': { needs: 'code', file: 'test/model/main.ts' },
  'test-faults': { needs: 'code', file: 'test/faults/main.ts' },
  check: { needs: 'code', file: 'scripts/check.mjs' },
  bench: { needs: 'code', file: 'test/bench/main.ts' },
  load: { needs: 'code', file: 'test/load/main.ts' },
  deploy: { needs: 'code', file: 'deploy/cluster/src/main.ts', inCallersFolder: true },
  kr: { needs: 'packages', file: 'clients/kr/src/main.ts', inCallersFolder: true },
  release: { needs: 'packages', file: 'scripts/release.mjs' },
  codegen: { needs: 'code' },
};

function main([name, ...args]) {
  const task = TASKS[name];
  if (task === undefined) fail(`Unknown task "${name}". There are: ${Object.keys(TASKS).join(', ')}.`);
  withLock(join(TOOLCHAIN, 'preparing'), () => {
    prepareToolchain();
    installPackages();
    if (task.needs === 'code') generateCode();
  });
  if (task.file !== undefined) startTask(task, args);
}

function startTask(task, args) {
  const file = join(ROOT, task.file);
  if (!existsSync(file)) fail(`This task has no program yet: ${file}`);
  // Programs that a task starts by name run on the same Node.
  process.env.PATH = `${TOOLCHAIN}${delimiter}${process.env.PATH}`;
  // Compiled code is stored between runs: a start takes half the time and less memory.
  process.env.NODE_COMPILE_CACHE ??= join(TOOLCHAIN, 'compile-cache');
  const argv = [...(task.flags ?? []), file, ...args];
  process.chdir(task.inCallersFolder ? (process.env.INIT_CWD ?? process.cwd()) : ROOT);
  process.execve?.(NODE, [NODE, ...argv], process.env);
  runAsChild(argv);
}

/** An old Node cannot replace itself: it stays as a thin parent that passes signals on. */
function runAsChild(argv) {
  const child = spawn(NODE, argv, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => forward(child, signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
}

function forward(child, signal) {
  // NOTE: a terminal sends Ctrl-C to the whole group, so the child has it already.
  if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
}

/** Node 24 (this one, or the pinned package) and pnpm in `.toolchain/`, checked against the lock file's hashes by npm. */
function prepareToolchain() {
  const modern = Number.parseInt(process.versions.node, 10) >= MIN_NODE;
  const stamp = hashOf(join(PINS, 'package-lock.json'), `${process.platform}-${process.arch}`);
  if (!isStamped(join(TOOLCHAIN, 'stamp'), stamp)) fetchToolchain(stamp);
  const packaged = join(TOOLCHAIN, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  const program = modern ? process.execPath : packaged;
  if (!existsSync(program)) {
    fail(
      `This project needs Node ${MIN_NODE}; this is ${process.version}, and npm has none packaged for this machine.\n` +
        `Install Node ${MIN_NODE} or later and start again.`,
    );
  }
  if (!pointsTo(program)) linkNode(program);
}

function fetchToolchain(stamp) {
  note('fetching the pinned tools (Node and pnpm, once)');
  mkdirSync(TOOLCHAIN, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    writeFileSync(join(TOOLCHAIN, file), readFileSync(join(PINS, file)));
  }
  // NOTE: the folder's own package.json ends npm's search for a workspace root.
  const result = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'],
    { cwd: TOOLCHAIN, stdio: ['ignore', 2, 2] },
  );
  if (result.status !== 0)
    fail('npm could not fetch the tools; its own message is above. Is the registry within reach?');
  writeFileSync(join(TOOLCHAIN, 'stamp'), stamp);
}

function pointsTo(program) {
  return existsSync(NODE) && realpathSync(NODE) === realpathSync(program);
}

/** Created beside and renamed, so that a concurrent task never finds the link missing. Relative, so that it can be copied. */
function linkNode(program) {
  const aside = `${NODE}.${process.pid}`;
  symlinkSync(program.startsWith(TOOLCHAIN) ? relative(TOOLCHAIN, program) : program, aside);
  renameSync(aside, NODE);
}

function installPackages() {
  const stampFile = join(ROOT, 'node_modules', '.installed-lockfile');
  const stamp = hashOf(join(ROOT, 'pnpm-lock.yaml'), `${process.platform}-${process.arch}`);
  if (isStamped(stampFile, stamp)) return;
  note('installing packages (pnpm, from the lock file)');
  const pnpm = join(TOOLCHAIN, 'node_modules', 'pnpm', 'bin', 'pnpm.cjs');
  const args = [
    'install',
    '--frozen-lockfile',
    '--config.confirm-modules-purge=false',
    '--reporter=append-only',
  ];
  const env = { ...process.env, npm_config_globalconfig: npmGlobalConfig() };
  const result = spawnSync(NODE, [pnpm, ...args], { cwd: ROOT, env, stdio: ['ignore', 2, 2] });
  if (result.status !== 0) fail('pnpm could not install the packages; its own message is above.');
  writeFileSync(stampFile, stamp);
}

/** pnpm would look for the machine's own settings (mirror, certificates) beside its Node, which is not the machine's. */
function npmGlobalConfig() {
  if (process.env.npm_config_globalconfig !== undefined) return process.env.npm_config_globalconfig;
  return spawnSync('npm', ['config', 'get', 'globalconfig'], { encoding: 'utf8' }).stdout?.trim();
}

function generateCode() {
  const result = spawnSync(NODE, [join(ROOT, 'scripts', 'codegen.mjs')], {
    cwd: ROOT,
    stdio: ['ignore', 2, 2],
  });
  if (result.status !== 0) fail('The code generation failed; its own message is above.');
}

function isStamped(file, stamp) {
  return readOr(file, '') === stamp;
}

function hashOf(file, more) {
  return createHash('sha256').update(readFileSync(file)).update(more).digest('hex');
}

function readOr(file, fallback) {
  return existsSync(file) ? readFileSync(file, 'utf8') : fallback;
}

function note(sentence) {
  process.stderr.write(`· ${sentence}\n`);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

main(process.argv.slice(2));
