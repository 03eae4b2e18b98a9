import type { Database } from '../store/prisma.ts';

export interface ForgetDeps {
  readonly database: Database;
  now(): Date;
  failed(cause: unknown): void;
}

/** How long a repeated request still finds the answer of its publication. */
const KEEP_MS = 30 * 86_400_000;
const EVERY_MS = 3_600_000;
const BATCH = 5_000;

/** Removes publications that were settled long ago, at once and every hour. Runs until stopped. */
export function forgetPublications(deps: ForgetDeps): { stop(): void } {
  void forgetOnce(deps);
  const timer = setInterval(() => void forgetOnce(deps), EVERY_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** No participant queries them: settled means that every participant has applied them. */
export async function forgetOnce({ database, now, failed }: ForgetDeps): Promise<void> {
  const before = new Date(now().getTime() - KEEP_MS);
  try {
    for (let removed = BATCH; removed === BATCH; ) {
      removed = await database.$executeRaw`
        delete from publication where id in (
          select id from publication
          where state in ('DONE', 'ABORT_DONE') and settled_at < ${before} limit ${BATCH}
        )`;
    }
  } catch (cause) {
    // The next hour tries again.
    failed(cause);
  }
}
