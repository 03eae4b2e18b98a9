import type { Environment } from './environment.ts';

/**
 * Constants that tests replace, by the variable `TEST_SETTINGS` with a JSON object. Operators cannot tune them: the values
 * depend on each other.
 */
export interface TestSettings {
  /** Time after which another process continues a publication. */
  publishLeaseMs: number;
  publishDeadlineMs: number;
  /** How long a publication retries calls to other services. */
  publishReachMs: number;
  /** Interval between two scans for unfinished publications. */
  publishScanMs: number;
  rpcDeadlineMs: number;
  /** Stall timeout of client connections. */
  idleTimeoutMs: number;
  waitForIndexMs: number;
  ownWritesWaitMs: number;
  searchTimeoutMs: number;
  /** Age at which unreferenced bytes are deleted. */
  garbageGraceMs: number;
  /** Interval between two looks for DOIs to register. */
  doiScanMs: number;
  /** First pause after DataCite failed. */
  doiRetryMs: number;
}

/** The variable that sets them, for the environment of a process under test. */
export function testSettings(settings: Partial<TestSettings>): { TEST_SETTINGS: string } {
  return { TEST_SETTINGS: JSON.stringify(settings) };
}

/** The value of a constant, which a test may have replaced. */
export function constant(env: Environment, name: keyof TestSettings, value: number): number {
  const settings: Partial<TestSettings> = JSON.parse(env['TEST_SETTINGS'] || '{}');
  return settings[name] ?? value;
}
