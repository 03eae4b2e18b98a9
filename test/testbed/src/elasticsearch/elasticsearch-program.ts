import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  access,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort, spawnAttached, until } from '@kr/local-stack/backends';
import { TEST_PROGRAMS_DIR } from '../run-folder.ts';

const run = promisify(execFile);

/** Puts a node together from the artefacts of Elasticsearch in Maven's repository, and runs it in the foreground. */
const LAUNCHER = resolve(import.meta.dirname, '../../../../../shared/tools/elasticsearch/elasticsearch.sh');
const HEAP = '512m';
/** A node of a few minutes does not earn back the second compiler's work. */
const QUICK_START = '-XX:TieredStopAtLevel=1';

/** @throws Error that names the missing program */
export async function findElasticsearch(): Promise<string> {
  const orSay = (what: string) => (cause: unknown) => {
    throw new Error(`there is no ${what} to run it by`, { cause });
  };
  await access(LAUNCHER).catch(orSay('launcher'));
  await run('mvn', ['--version']).catch(orSay('Maven with a JDK'));
  return LAUNCHER;
}

export interface ElasticsearchStart {
  /** Of `findElasticsearch`. */
  program: string;
  /** Where it keeps its data, its log, and its process id as `pid`. */
  folder: string;
  timeoutMs: number;
}

/**
 * Starts a node with no data in it, which ends with this process at the latest.
 *
 * @throws Error with the end of its log
 */
export async function startElasticsearch({
  program,
  folder,
  timeoutMs,
}: ElasticsearchStart): Promise<{ url: string }> {
  const kept = join(TEST_PROGRAMS_DIR, `elasticsearch-${await fingerprint(program)}`);
  const home = join(folder, 'home');
  await mkdir(home, { recursive: true });
  for (const part of await readdir(kept).catch(() => [])) await symlink(join(kept, part), join(home, part));
  const port = await freePort();
  const logFile = join(folder, 'elasticsearch.log');
  const child = spawnAttached({
    command: program,
    args: [home, String(port), HEAP],
    env: { ...process.env, JAVA_TOOL_OPTIONS: QUICK_START },
    logFile,
    stopSignal: 'SIGTERM',
  });
  await writeFile(join(folder, 'pid'), String(child.pid));
  child.unref();
  const url = `http://127.0.0.1:${port}`;
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isUp = () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  const state = await until(async () => (hasEnded() ? 'over' : (await isUp()) && 'up'), {
    timeoutMs,
    everyMs: 200,
    what: 'Elasticsearch',
  });
  if (state === 'over') throw new Error(`it ended: ${(await readFile(logFile, 'utf8')).slice(-300)}`);
  await keep(home, kept);
  return { url };
}

/** The parts of a node's home that are program, not data. */
const isProgram = (name: string) => /^(modules|classes|classpath\.txt|\.laid-.*)$/.test(name);

/** Keeps the program for later runs; one that is kept already stays. */
async function keep(home: string, kept: string): Promise<void> {
  const isKept = await access(kept).then(
    () => true,
    () => false,
  );
  if (isKept) return;
  await mkdir(dirname(kept), { recursive: true });
  const aside = await mkdtemp(`${kept}-`);
  for (const name of await readdir(home)) {
    if (isProgram(name)) await cp(join(home, name), join(aside, name), { recursive: true });
  }
  // Another run may have been first.
  await rename(aside, kept).catch(() => rm(aside, { recursive: true, force: true }));
}

async function fingerprint(program: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(dirname(program))).sort())
    hash.update(await readFile(join(dirname(program), name)));
  return hash.digest('hex').slice(0, 12);
}
