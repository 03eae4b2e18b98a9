/**
 * Puts together what one service runs on, and nothing else: `node assemble.mjs SERVICE FOLDER`, in a checkout whose code
 * was generated. Its sources and those of the libraries that it uses, without tests, the contracts, and what they depend
 * on in production, from the lock file. The folders keep their places: Node strips no types below `node_modules`.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';

/** Peers of @prisma/client, its command line and the compiler, which are not needed at run time. */
const TOOLS = ['prisma', 'typescript'];
const ROOT = resolve(import.meta.dirname, '../..');
const [service, target] = process.argv.slice(2);
if (service === undefined || target === undefined) throw new Error('usage: node assemble.mjs SERVICE FOLDER');

const packages = new Map(
  ['services', 'libs'].flatMap((group) =>
    readdirSync(join(ROOT, group)).map((name) => [manifest(join(group, name)).name, join(group, name)]),
  ),
);

mkdirSync(target, { recursive: true });
for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'LICENSE', 'proto']) copy(file);
for (const folder of needed(join('services', service))) copy(folder);
install();
dropUnreached();

/** The folder and those of all the packages of this project that it needs in production. */
function needed(folder, found = new Set()) {
  if (found.has(folder)) return found;
  found.add(folder);
  for (const name of Object.keys(manifest(folder).dependencies ?? {})) {
    if (packages.has(name)) needed(packages.get(name), found);
  }
  return found;
}

function manifest(folder) {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
}

function copy(path) {
  cpSync(join(ROOT, path), join(target, path), { recursive: true, filter: isForProduction });
}

function isForProduction(path) {
  return (
    !/^(node_modules|testing|prisma|README\.md)$|\.test\.ts$|-fixture\.ts$|^\.stamp$/.test(basename(path)) ||
    path.endsWith(join('gen', 'prisma'))
  );
}

function install() {
  const args = ['install', '--prod', '--frozen-lockfile', '--prefer-offline', '--ignore-scripts'];
  const { status, error } = spawnSync('pnpm', args, { cwd: target, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Removes the packages that only those tools need. */
function dropUnreached() {
  const store = realpathSync(join(target, 'node_modules', '.pnpm'));
  const reached = new Set();
  const waiting = [...needed(join('services', service))].map((folder) =>
    join(target, folder, 'node_modules'),
  );
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const link of linksIn(folder)) {
      const [id] = relative(store, realpathSync(link)).split(sep);
      if (id === '..' || reached.has(id)) continue;
      reached.add(id);
      waiting.push(join(store, id, 'node_modules'));
    }
  }
  for (const id of readdirSync(store)) {
    const isPackage = lstatSync(join(store, id)).isDirectory() && id !== 'node_modules';
    if (isPackage && !reached.has(id)) rmSync(join(store, id), { recursive: true });
  }
  for (const folder of [...reached, '.'].map((id) => join(store, id, 'node_modules'))) {
    for (const link of linksIn(folder, [])) if (!existsSync(link)) rmSync(link);
  }
}

/** The links to other packages in a folder of them, one level of scopes included. */
function linksIn(folder, without = TOOLS) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !without.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) return [path];
      return entry.name.startsWith('@') ? linksIn(path, without) : [];
    });
}
