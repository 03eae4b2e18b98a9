/**
 * Every place where a process can be made to fail, in the order in which the work passes them. `x.before` and `x.after`
 * surround a step; `x.inside` lies in its transaction, when all is written and nothing committed.
 */
export const FAILPOINTS = [
  // The coordinator of publications.
  'publish.begin.before',
  'publish.begin.after',
  'publish.seal.before',
  'publish.seal.after',
  'publish.check.before',
  'publish.check.after',
  'publish.prepare.before',
  'publish.prepare.after',
  'publish.renew.before',
  'publish.renew.after',
  'publish.commit.before',
  'publish.commit.inside',
  'publish.commit.after',
  'publish.abort.before',
  'publish.abort.inside',
  'publish.abort.after',
  'publish.notify-files.before',
  'publish.notify-files.after',
  'publish.notify-records.before',
  'publish.notify-records.after',
  'publish.finish.before',
  'publish.finish.after',
  'publish.postpone.before',
  'publish.postpone.after',
  'publish.claim.after',
  'publish.resolve.before',
  'publish.resolve.after',
  // The records service as a participant.
  'records.prepare.before',
  'records.prepare.inside',
  'records.prepare.after',
  'records.apply.before',
  'records.apply.inside',
  'records.apply.after',
  'records.resolve.before',
  'records.resolve.after',
  'records.stale-locks.before',
  'records.stale-locks.after',
  // The files service as a participant.
  'files.seal.before',
  'files.seal.inside',
  'files.seal.after',
  'files.apply.before',
  'files.apply.inside',
  'files.apply.after',
  'files.resolve.before',
  'files.resolve.after',
  // The bytes of a file and the rows that name them.
  'files.write.before',
  'files.write.inside',
  'files.sync.after',
  'files.rename.after',
  'files.write.after',
  'files.attach.before',
  'files.attach.after',
  'files.commit.before',
  'files.commit.inside',
  'files.commit.after',
  'files.gc.inside',
  // The relay of every service that emits events.
  'outbox.send.before',
  'outbox.mark.before',
  'outbox.mark.after',
  // The search service, when a new index is active and no notification was sent.
  'reindex.note.before',
] as const;

export type Failpoint = (typeof FAILPOINTS)[number];

/** Steps that {@link around} can surround: those with both ends in the list. */
export type Step = {
  [Name in Failpoint]: Name extends `${infer Base}.before`
    ? `${Base}.after` extends Failpoint
      ? Base
      : never
    : never;
}[Failpoint];
