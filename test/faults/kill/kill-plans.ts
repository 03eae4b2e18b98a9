import { FAILPOINTS, type Failpoint } from '@kr/failpoint';
import type { ServiceName } from '@kr/local-stack';

/** The story that runs while a process waits to die. */
export type Story = 'publish' | 'refused publish' | 'read' | 'upload' | 'gc' | 'reindex';

export interface KillPlan {
  point: Failpoint;
  victim: ServiceName;
  /** The orders of the victim: how it reaches the point and dies there. */
  orders: string;
  /** Another service that fails first, so that the point is reached at all. */
  accomplice?: { part: ServiceName; orders: string };
  story: Story;
  /** Whether any work of that story reaches the point without further help. */
  isPlain: boolean;
}

type Way = Partial<Pick<KillPlan, 'victim' | 'accomplice' | 'story'>> & { first?: string };

/** Far longer than a round: the process is ended before. */
const HELD = 'pause:600000';
const UNTOLD = { accomplice: { part: 'packages', orders: `publish.notify-records.before:${HELD}` } } as const;
// Once it is decided, readers and the news of it are quicker than the janitor.
const UNDECIDED = { accomplice: { part: 'packages', orders: `publish.commit.before:${HELD}` } } as const;
const UNTOLD_FILES = {
  accomplice: { part: 'packages', orders: `publish.notify-files.before:${HELD}` },
} as const;

/** Points that a publication which succeeds at the first attempt does not pass. */
const WAYS: Partial<Record<Failpoint, Way>> = {
  'publish.renew.before': { first: 'publish.seal.before:error@1' },
  'publish.renew.after': { first: 'publish.seal.before:error@1' },
  'publish.abort.before': { story: 'refused publish' },
  'publish.abort.inside': { story: 'refused publish' },
  'publish.abort.after': { story: 'refused publish' },
  'publish.postpone.before': { first: 'publish.notify-files.before:error@1' },
  'publish.postpone.after': { first: 'publish.notify-files.before:error@1' },
  'publish.claim.after': { first: `publish.seal.after:${HELD}` },
  'publish.resolve.before': { first: `publish.notify-records.before:${HELD}`, story: 'read' },
  'publish.resolve.after': { first: `publish.notify-records.before:${HELD}`, story: 'read' },
  'records.resolve.before': { ...UNTOLD, story: 'read' },
  'records.resolve.after': { ...UNTOLD, story: 'read' },
  'records.stale-locks.before': UNDECIDED,
  'records.stale-locks.after': UNDECIDED,
  'files.resolve.before': UNTOLD_FILES,
  'files.resolve.after': UNTOLD_FILES,
  'files.gc.inside': { story: 'gc' },
  'reindex.note.before': { victim: 'search', story: 'reindex' },
  'outbox.send.before': { victim: 'packages' },
  'outbox.mark.before': { victim: 'records' },
  'outbox.mark.after': { victim: 'packages' },
};

const OUTSIDE = /^outbox\.|^files\.gc\.|^reindex\./;
const UPLOADING = /^files\.(write|sync|rename|attach|commit)\./;
const OWNERS: Record<string, ServiceName> = { publish: 'packages', records: 'records', files: 'files' };

/** One for each failpoint there is. */
export const KILL_PLANS: readonly KillPlan[] = FAILPOINTS.map((point) => {
  const { first, victim, accomplice, story } = WAYS[point] ?? {};
  const kill = `${point}:kill`;
  return {
    point,
    victim: victim ?? OWNERS[point.split('.')[0] ?? ''] ?? 'records',
    orders: first === undefined ? kill : `${first},${kill}`,
    ...(accomplice === undefined ? {} : { accomplice }),
    isPlain: first === undefined && accomplice === undefined && !OUTSIDE.test(point),
    story: story ?? (UPLOADING.test(point) ? 'upload' : 'publish'),
  };
});
