// Three kinds of tests, distinguished by their file names; see CONTRIBUTING.md.
const project = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/\\.(data|toolchain)/'],
};

// Runs once for all the projects that name it: one real Postgres for the whole run.
const realBackends = {
  globalSetup: '<rootDir>/test/testbed/src/jest/start-backends.mjs',
  globalTeardown: '<rootDir>/test/testbed/src/jest/stop-backends.mjs',
};

export default {
  // More than the cores of a small machine: who tests a whole system waits for it half of the time.
  maxWorkers: 3,
  // Modules loaded by tests are never released, and garbage collection of a large heap pauses a process for
  // seconds.
  workerIdleMemoryLimit: '512MB',
  testSequencer: '<rootDir>/test/testbed/src/jest/longest-first.mjs',
  // Ends what hangs; how fast something is, no test may depend on.
  testTimeout: 300_000,
  reporters: ['default', '<rootDir>/test/testbed/src/jest/outcome-reporter.mjs'],
  projects: [
    {
      ...project,
      displayName: 'unit',
      testMatch: ['<rootDir>/{services,libs,clients,deploy,test}/**/*.unit.test.ts'],
    },
    {
      ...project,
      ...realBackends,
      displayName: 'int',
      testMatch: ['<rootDir>/{services,libs,clients,deploy,test}/**/*.int.test.ts'],
    },
    {
      ...project,
      ...realBackends,
      displayName: 'system',
      testMatch: [
        '<rootDir>/test/**/*.{e2e,contract,model,faults}.test.ts',
        '<rootDir>/services/**/*.faults.test.ts',
      ],
    },
  ],
};
