/**
 * How far the tests of this folder go: a short form within `npm test`, the whole within `npm run test:faults`. Read once,
 * as everything that a run depends on.
 */
const environment = process.env;

export const isFull = environment['FAULTS_SCALE'] === 'full';

/** The number that fits the run. */
export function scaled(short: number, full: number): number {
  return isFull ? full : short;
}

/**
 * The seed of all random choices. The short form has a fixed one, so that it fails only after changes of the code;
 * the full form has one from `--seed` or a random one. Tests print it in their reports.
 */
export const seed = Number(environment['FAULTS_SEED'] || (isFull ? Math.floor(Math.random() * 2 ** 30) : 1));
