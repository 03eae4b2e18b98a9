import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';

const ROOT = resolve(import.meta.dirname, '../..');

function main(): void {
  const options = new Command('npm run test:faults --')
    .description('Runs the fault injection tests in full length; npm test runs a short form of each.')
    .option('--only <text>', 'only test files whose path contains the text', '')
    .option('--test <text>', 'only tests whose name matches the text')
    .option('--seed <n>', 'repeat the same random choices (default: random)', '')
    .parse()
    .opts<{ only: string; test?: string; seed: string }>();
  const jest = join(dirname(createRequire(import.meta.url).resolve('jest/package.json')), 'bin/jest.js');
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--no-warnings=ExperimentalWarning',
      jest,
      '--runInBand',
      '--verbose',
      '--testPathPatterns',
      `${options.only}.*\\.faults\\.test\\.ts$`,
      ...(options.test === undefined ? [] : ['--testNamePattern', options.test]),
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, FAULTS_SCALE: 'full', FAULTS_SEED: options.seed },
    },
  );
  process.exitCode = status ?? 1;
}

main();
