import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const HELP = `Runs the fault injection tests in full length; npm test runs a short form of each.

  npm run test:faults -- [options]

  --only TEXT    only test files whose path contains TEXT
  --test TEXT    only tests whose name matches TEXT
  --seed N       repeat the same random choices (default random)
  --help         this text
`;

const ROOT = resolve(import.meta.dirname, '../..');

function main(): void {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      test: { type: 'string' },
      seed: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
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
      `${values.only}.*\\.faults\\.test\\.ts$`,
      ...(values.test === undefined ? [] : ['--testNamePattern', values.test]),
    ],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, FAULTS_SCALE: 'full', FAULTS_SEED: values.seed },
    },
  );
  process.exitCode = status ?? 1;
}

main();
