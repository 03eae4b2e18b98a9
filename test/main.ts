import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

const HELP = `Runs the tests against real components.

  npm test                            all of them
  npm test -- libs/metadata           those whose path contains a text
  npm test -- -t "a name" PATH        those of them with that name
  npm test -- --help                  this text

Everything else goes to Jest as it is. Where some suites of a whole run fail, they run once more, one by one: a busy
machine may have let a wait pass its limit, a fault fails again. What passes only then is named at the end.
`;

interface TestCounts {
  passed: number;
  /** A suite that could not run counts as one. */
  failed: number;
  skipped: number;
}

/** As `testbed/src/jest/outcome-reporter.mjs` writes it. */
interface ReportedOutcome extends TestCounts {
  failedSuites: readonly (TestCounts & { path: string })[];
}

interface TestOutcome extends ReportedOutcome {
  isSuccess: boolean;
}

/** Of a run that ended before it began. */
const NOTHING_RAN: ReportedOutcome = { passed: 0, failed: 0, skipped: 0, failedSuites: [] };

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
    const isWhole = args.length === 0;
    const outcome =
      isWhole && mayBeChance(first) ? await runAgain(first, join(folder, 'second.json')) : first;
    process.exitCode = outcome.isSuccess ? 0 : 1;
    // The last line, for machines to count.
    say(`${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped} skipped`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function mayBeChance({ isSuccess, failedSuites }: TestOutcome): boolean {
  return !isSuccess && failedSuites.length > 0 && failedSuites.length <= MOST_SUITES_AGAIN;
}

/** What the run came to with each failed suite counted as it ended the second time, alone. */
async function runAgain(first: TestOutcome, file: string): Promise<TestOutcome> {
  const paths = first.failedSuites.map(({ path }) => path);
  say(`\nOnce more, one by one, what failed among the others:\n${list(paths)}\n`);
  const second = await runJest(['--runInBand', '--runTestsByPath', ...paths], file);
  const stillFailed = new Set(second.failedSuites.map(({ path }) => path));
  const unsteady = paths.filter((path) => !stillFailed.has(path));
  if (unsteady.length > 0) say(`\nFailed among the others, passed alone; see above why:\n${list(unsteady)}`);
  const without = (count: keyof TestCounts): number =>
    first[count] - first.failedSuites.reduce((sum, suite) => sum + suite[count], 0) + second[count];
  return { ...second, passed: without('passed'), failed: without('failed'), skipped: without('skipped') };
}

function list(paths: readonly string[]): string {
  return paths.map((path) => `  ${relative(ROOT, path)}`).join('\n');
}

async function runJest(args: readonly string[], outcomeFile: string): Promise<TestOutcome> {
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
  if (signal !== null) process.kill(process.pid, signal);
  const written = await readFile(outcomeFile, 'utf8').catch(() => undefined);
  const outcome: ReportedOutcome = written === undefined ? NOTHING_RAN : JSON.parse(written);
  return { ...outcome, isSuccess: code === 0 };
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
