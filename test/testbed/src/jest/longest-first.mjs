import TestSequencer from '@jest/test-sequencer';

/** The slowest suites, started first so that none of them runs alone at the end. */
const LONGEST = [
  'largest-inputs',
  'access-matrix',
  // Builds Helm on the first run.
  'chart',
  'schemathesis',
  'kill-participants',
  'kill-coordinator',
  // Starts the server that other suites need too.
  'elasticsearch-engine',
  'large-documents',
  'browser',
  'backup-and-restore',
  'generated-clients',
  'bad-input',
  'stored-bytes',
  'read-your-writes',
  'kill-uploads-and-relays',
  'hidden-twins',
  'upgrade',
  'atomic-visibility',
  'harvest',
  'metrics',
  'rest-document',
  'validate',
];
/** Their server may have to be built first, while other suites run. */
const NEED_S3 = ['files-in-s3', 's3-blob-store', 'gc-beside-uploads', 'fixity-check'];
/** The order of the other suites. */
const KINDS = ['system', 'int', 's3', 'unit'];

export default class LongestFirst extends TestSequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ path, context }) {
  const rank = LONGEST.findIndex((name) => path.includes(`/${name}.`));
  if (rank !== -1) return rank;
  const needsS3 = NEED_S3.some((name) => path.includes(`/${name}.`));
  return LONGEST.length + KINDS.indexOf(needsS3 ? 's3' : context.config.displayName?.name);
}
