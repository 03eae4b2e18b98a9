import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { scaled, seed } from '../faults/scale.ts';
import { chance } from './chance.ts';
import { lifecycleTwins } from './contract/lifecycle-commands.ts';
import { publicationTwins } from './contract/publication-commands.ts';
import { sealTwins } from './contract/seal-commands.ts';
import type { Twins } from './contract/twins.ts';

const COMMANDS = scaled(150, 2_000);
const LONG_MS = 600_000;

/**
 * The simulation is worth what its stores are worth: each does what the one on Postgres does. The same commands, chosen
 * by chance, are given to both, and both must answer the same and be in the same state after each.
 */
describe.each([
  ['the lifecycle', lifecycleTwins],
  ['publications', publicationTwins],
  ['seals', sealTwins],
])('%s in memory and on Postgres', (_name, open) => {
  let twins: Twins;
  beforeAll(async () => {
    twins = await open();
  }, LONG_MS);
  afterAll(() => twins.close());

  test(
    `are the same after each of ${COMMANDS} commands (seed ${seed})`,
    async () => {
      const choose = chance(seed);
      const history: string[] = [];
      const outcomes = new Set<string>();
      for (let at = 0; at < COMMANDS; at += 1) {
        const { words, ofMemory, ofSql } = await twins.next(choose);
        history.push(words);
        outcomes.add(`${words.split(' ')[0]} ${ofMemory.outcome}`);
        expect({ history: history.slice(-20), ...ofMemory }).toEqual({
          history: history.slice(-20),
          ...ofSql,
        });
      }
      // Each command was carried out at least once, so that equal errors are not all there is.
      expect(twins.commands.filter((name) => !outcomes.has(`${name} done`))).toEqual([]);
    },
    LONG_MS,
  );

  test(
    'let one transaction wait for another, and the second sees what the first has written',
    () => twins.contend(),
    LONG_MS,
  );
});
