import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

const HELP = `Runs the tests against real components.

  npm test                            all of them
  npm test -- libs/metadata           those whose path contains a text
  npm test -- -t "a name" PATH        those of them with that name
  npm test -- --help                  this text

Other options are passed to Jest. If a few suites of a whole run fail, they run once more, one by one: timeouts on a
busy machine pass then, defects fail again. The end of the run lists suites that passed only then.
`;

interface TestCounts {
  passed: number;
  /** A suite that could not run counts as one. */
  failed: number;
  skipped: number;
}

/** As `testbed/src/jest/outcome-reporter.mjs` writes it. */
interface ReportedOutcome extends TestCounts {
  /** Whether every suite ran to its end, without errors outside of tests. */
  isWhole: boolean;
  failedSuites: readonly (TestCounts & { path: string })[];
}

interface TestOutcome extends ReportedOutcome {
  isSuccess: boolean;
  /** Whether what was started for all suites was cleared away. */
  isCleared: boolean;
}

const ROOT = resolve(import.meta.dirname, '..');
const JEST = join(dirname(createRequire(import.meta.url).resolve('jest/package.json')), 'bin/jest.js');
/** Of more than these it is not chance that they failed. */
const MOST_SUITES_AGAIN = 6;

async function main(args: readonly string[]): Promise<void> {
  if (args.includes('--help')) {
    process.stdout.write(HELP);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'kr-test-'));
  try {
    const first = await runJest(args, join(folder, 'first.json'));
    if (typeof first === 'string') process.once('exit', () => process.kill(process.pid, first));
    else if (typeof first === 'number') process.exitCode = first;
    else tell(args.length === 0 ? await forgiving(first, join(folder, 'second.json')) : first);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function tell({ isSuccess, passed, failed, skipped }: TestOutcome): void {
  process.exitCode = isSuccess ? 0 : 1;
  // The last line, for machines to count.
  say(`${passed} passed, ${failed} failed, ${skipped} skipped`);
}

/** With each failed suite as it ended the second time, alone, if it may have been chance that it failed. */
async function forgiving(first: TestOutcome, file: string): Promise<TestOutcome> {
  const { failedSuites } = first;
  const isChance = failedSuites.length > 0 && failedSuites.length <= MOST_SUITES_AGAIN;
  if (!isChance || !first.isWhole || !first.isCleared) return first;
  const paths = failedSuites.map(({ path }) => path);
  say(`\nOnce more, one by one, what failed among the others:\n${list(paths)}\n`);
  const second = await runJest(['--runInBand', '--runTestsByPath', ...paths], file);
  if (typeof second !== 'object') return first;
  const before = (count: keyof TestCounts) => failedSuites.reduce((sum, suite) => sum + suite[count], 0);
  if (second.skipped > before('skipped')) {
    say('\nNot all of their tests could run alone: what failed stays failed.');
    return first;
  }
  const stillFailed = new Set(second.failedSuites.map(({ path }) => path));
  const unsteady = paths.filter((path) => !stillFailed.has(path));
  if (unsteady.length > 0) say(`\nFailed among the others, passed alone; see above why:\n${list(unsteady)}`);
  const together = (count: keyof TestCounts) => first[count] - before(count) + second[count];
  return {
    ...second,
    isSuccess: second.isSuccess && second.isWhole,
    passed: together('passed'),
    failed: together('failed'),
    skipped: together('skipped'),
  };
}

function list(paths: readonly string[]): string {
  return paths.map((path) => `  ${relative(ROOT, path)}`).join('\n');
}

/** @returns the exit code, or the signal, of a Jest that has run no test */
async function runJest(
  args: readonly string[],
  outcomeFile: string,
): Promise<TestOutcome | number | NodeJS.Signals> {
  const child = spawn(
    process.execPath,
    ['--experimental-vm-modules', '--no-warnings=ExperimentalWarning', JEST, ...args],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, TEST_OUTCOME_FILE: outcomeFile } },
  );
  const forget = passSignalsTo(child);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, failed) => {
    child.on('error', failed).on('exit', (...ended) => done(ended));
  });
  forget();
  if (signal !== null) return signal;
  if (!existsSync(outcomeFile)) return code ?? 1;
  const reported: ReportedOutcome = JSON.parse(await readFile(outcomeFile, 'utf8'));
  return { ...reported, isSuccess: code === 0, isCleared: existsSync(`${outcomeFile}.cleared`) };
}

/** A terminal sends Ctrl-C to both; who sends a signal to this process alone means Jest too. */
function passSignalsTo(child: ChildProcess): () => void {
  const pass = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, pass);
  return () => {
    for (const signal of signals) process.off(signal, pass);
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await main(process.argv.slice(2));
