/**
 * Generates all code derived from a contract or a schema: the types of `proto/` into
 * `libs/contracts/src/gen`, and a Prisma client for every `prisma/` folder of a lib or service. Skips up-to-date
 * output, so it may run before every start, test and check. `deploy/local/bootstrap.mjs` runs it in one process at a time.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const run = promisify(execFile);

const targets = [contracts(), ...(await prismaFolders()).map(prismaClient)];
const started = performance.now();
const stale = await outdated(targets);
await Promise.all(stale.map(generate));
if (stale.length > 0) {
  const names = stale.map(({ target }) => relative(root, target.output)).join(', ');
  process.stderr.write(`codegen: ${names} (${Math.round(performance.now() - started)} ms)\n`);
}

/** The message and service types, and one file that exports all message types by their plain names. */
function contracts() {
  return {
    inputs: join(root, 'proto'),
    extension: '.proto',
    tools: [require.resolve('@grpc/proto-loader/package.json')],
    output: join(root, 'libs/contracts/src/gen'),
    async build(output, files) {
      const bin = join(
        require.resolve('@grpc/proto-loader/package.json'),
        '../build/bin/proto-loader-gen-types.js',
      );
      const options = '--longs=String --enums=String --defaults --oneofs --includeComments';
      const names = files.map((file) => relative(this.inputs, file));
      await run(process.execPath, [
        bin,
        ...options.split(' '),
        '--grpcLib=@grpc/grpc-js',
        '--importFileExtension=.ts',
        `-I=${this.inputs}`,
        `-O=${output}`,
        ...names,
      ]);
      await writeFile(join(output, 'messages.ts'), await messageIndex(output));
    },
  };
}

/** One `export type` line for each generated message and enum; a name that two packages use is refused. */
async function messageIndex(output) {
  const seen = new Map();
  const lines = [];
  for (const file of await filesIn(join(output, 'knowledge'), '.ts')) {
    const source = await readFile(file, 'utf8');
    const name = file.slice(file.lastIndexOf('/') + 1, -3);
    if (source.includes(`export interface ${name}Definition `)) continue;
    const path = `./${relative(output, file)}`;
    if (seen.has(name)) throw new Error(`two messages are named ${name}: ${seen.get(name)} and ${path}`);
    seen.set(name, path);
    lines.push(`export type { ${name}, ${name}__Output } from '${path}';`);
  }
  return `${lines.join('\n')}\n`;
}

/** Folders with a Prisma schema that has a client, of one file or several; a file may be a link to another package's models. */
async function prismaFolders() {
  const found = [];
  for (const group of ['libs', 'services']) {
    for (const name of await readdir(join(root, group))) {
      const folder = join(root, group, name, 'prisma');
      const schema = await readFile(join(folder, 'schema.prisma'), 'utf8').catch(() => '');
      if (schema.includes('generator client')) found.push(folder);
    }
  }
  return found;
}

function prismaClient(folder) {
  return {
    inputs: folder,
    extension: '.prisma',
    tools: [require.resolve('prisma/package.json')],
    output: join(folder, '../src/gen/prisma'),
    async build() {
      const bin = join(require.resolve('prisma/package.json'), '../build/index.js');
      // Generating needs no engine, but Prisma fetches one unless it is pointed at some program.
      const env = {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      };
      await run(process.execPath, [bin, 'generate', '--schema', 'prisma', '--no-hints'], {
        cwd: join(folder, '..'),
        env,
      });
    },
  };
}

async function outdated(all) {
  const checked = await Promise.all(
    all.map(async (target) => {
      const files = await filesIn(target.inputs, target.extension);
      const hash = await hashOf([fileURLToPath(import.meta.url), ...target.tools, ...files]);
      const stamp = await readFile(join(target.output, '.stamp'), 'utf8').catch(() => '');
      return { target, files, hash, isCurrent: stamp === hash };
    }),
  );
  return checked.filter(({ isCurrent }) => !isCurrent);
}

async function generate({ target, files, hash }) {
  if (target.build.length === 0) {
    await target.build();
  } else {
    // Built beside and moved in place, so that a process that is reading never sees half of it.
    const next = `${target.output}.next`;
    await rm(next, { recursive: true, force: true });
    await mkdir(next, { recursive: true });
    await target.build(next, files);
    await rm(target.output, { recursive: true, force: true });
    await rename(next, target.output);
  }
  await writeFile(join(target.output, '.stamp'), hash);
}

async function filesIn(folder, extension) {
  const entries = await readdir(folder, { recursive: true });
  return entries
    .filter((entry) => entry.endsWith(extension))
    .sort()
    .map((entry) => join(folder, entry));
}

async function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${relative(root, file)}\0`).update(await readFile(file));
  return hash.digest('hex');
}
