import TestSequencer from '@jest/test-sequencer';

/** What takes longest, so that it does not run alone at the end. */
const LONGEST = [
  'kill-coordinator',
  'kill-participants',
  'bad-input',
  'read-your-writes',
  'kill-uploads-and-relays',
  'publish.faults',
  'atomic-visibility',
  'rest-document',
  'validate',
];
/** The others come by their kind. */
const KINDS = ['system', 'int', 'unit'];

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ path, context }) {
  const rank = LONGEST.findIndex((name) => path.includes(`/${name}.`));
  return rank === -1 ? LONGEST.length + KINDS.indexOf(context.config.displayName?.name) : rank;
}
