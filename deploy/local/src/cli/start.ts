import { relative, resolve } from 'node:path';
import { CommanderError } from 'commander';
import { portProblem } from '../backends/free-port.ts';
import { readJson } from '../private-file.ts';
import { dataFolder } from '../stack/data-folder.ts';
import { AlreadyRunning } from '../stack/process-list.ts';
import { type RunningStack, startStack } from '../stack/start-stack.ts';
import { ensureFirstUser } from './first-user.ts';
import { parseStartOptions, type StartOptions } from './options.ts';
import { readyText } from './ready-text.ts';

/** A start that is interrupted in the middle of a download does not wait for its end. */
const MAX_STOP_MS = 4_800;

/**
 * The command behind `npm start`: starts the system, prints its address, and runs until it is stopped. Never
 * rejects.
 */
export async function start(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options === undefined) return;
  const interruption = new AbortController();
  const stopping = onStopSignals(() => interruption.abort());
  try {
    const stack = await startWith(options, interruption.signal);
    stopping.use(stack);
  } catch (thrown) {
    if (interruption.signal.aborted) return leave('Stopped.', 130);
    leave(await explain(thrown, options), 1);
  }
}

/** Undefined after the help text was printed, or when the options are wrong. */
function readOptions(args: readonly string[]): StartOptions | undefined {
  const printed: string[] = [];
  try {
    return parseStartOptions(args, (text) => printed.push(text));
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    leave(printed.join('').trimEnd(), thrown.exitCode === 0 ? 0 : 2);
    return undefined;
  }
}

async function startWith(options: StartOptions, signal: AbortSignal): Promise<RunningStack> {
  const began = performance.now();
  const folder = dataFolder(resolve(options.dataDir));
  console.log(`· data in ${displayPath(folder.root)}, logs in ${displayPath(folder.logs)}`);
  await checkPort(options, folder.processesFile);
  const stack = await startStack({
    dataDir: options.dataDir,
    port: options.port,
    logLevel: options.logLevel,
    durability: 'safe',
    hasPages: true,
    environment: process.env,
    signal,
    onProgress: (sentence) => console.log(`· ${sentence}`),
  });
  try {
    const first = options.demoUser ? await ensureFirstUser(folder.credentialsFile, stack) : undefined;
    const seconds = (performance.now() - began) / 1000;
    console.log(
      readyText({
        baseUrl: stack.baseUrl,
        seconds,
        dataDir: options.dataDir,
        credentialsFile: displayPath(folder.credentialsFile),
        first,
      }),
    );
  } catch (thrown) {
    await stack.stop();
    throw thrown;
  }
  return stack;
}

async function checkPort({ port, dataDir }: StartOptions, processesFile: string): Promise<void> {
  const problem = await portProblem(port);
  // The owner may be an earlier start on the same folder, which has a better message.
  if (problem === undefined || (await readJson(processesFile)) !== undefined) return;
  const remedy = `npm start -- --port ${port + 1}${dataDir === '.data' ? '' : ` --data-dir ${dataDir}`}`;
  throw new Error(
    problem === 'EADDRINUSE'
      ? `Port ${port} is taken by another program. Stop that program, or choose another port: ${remedy}`
      : `Port ${port} cannot be used (${problem}). Choose another: ${remedy}`,
  );
}

async function explain(thrown: unknown, options: StartOptions): Promise<string> {
  if (thrown instanceof AlreadyRunning) {
    const runtime = await readJson<{ base_url: string }>(dataFolder(resolve(options.dataDir)).runtimeFile);
    const where = runtime === undefined ? '' : ` at ${runtime.base_url}`;
    return (
      `It is already running on this data directory${where} (process ${thrown.pid}). ` +
      `Stop it with Ctrl-C there or "kill ${thrown.pid}", or start a second one with another --data-dir and --port.`
    );
  }
  if (thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'mkdir') {
    return `${options.dataDir} cannot be the data directory: ${thrown.message}`;
  }
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The first signal stops in good order, a second one at once. */
function onStopSignals(interruptStart: () => void): { use(stack: RunningStack): void } {
  let running: RunningStack | undefined;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    if (running === undefined) {
      interruptStart();
      setTimeout(() => leave('Stopped.', 130), MAX_STOP_MS);
      return;
    }
    const now = isStopping;
    if (!now) console.log('· stopping');
    isStopping = true;
    await running.stop({ now });
    leave('Stopped.', 0);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop());
  return {
    use(stack) {
      running = stack;
    },
  };
}

function leave(sentence: string, code: number): void {
  (code === 0 || code === 130 ? console.log : console.error)(sentence);
  process.exit(code);
}

function displayPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}
