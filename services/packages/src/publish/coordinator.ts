import { detached } from '@kr/rpc';
import type { Publication } from './publication.ts';
import type { PublishPorts } from './publish-ports.ts';
import { OUT_OF_TIME, type PublishLimits, type PublishResult } from './publish-saga.ts';
import { type Run, runPublication } from './run-publication.ts';

/** The publications this process currently owns. */
export interface Coordinator {
  /** Starts to run a publication whose current epoch belongs to this process. */
  run(publication: Publication): Run;
  /** The decision of a publication, by any owner; `unknown` if it is undecided at the given instant. */
  waitForResult(publicationId: string, until: Date): Promise<PublishResult>;
  /** Waits until none is running. */
  idle(): Promise<void>;
}

const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 250;

export function createCoordinator(ports: PublishPorts, limits: PublishLimits): Coordinator {
  const runs = new Map<string, Run>();

  const run = (publication: Publication): Run => {
    // The caller's deadline ends its call, never the publication.
    const started = detached(() => runPublication(ports, publication, limits));
    runs.set(publication.id, started);
    void started.finished.then(() => {
      if (runs.get(publication.id) === started) runs.delete(publication.id);
    });
    return started;
  };

  const waitForResult = async (publicationId: string, until: Date): Promise<PublishResult> => {
    const own = await runs.get(publicationId)?.answer;
    if (own?.outcome === 'committed' || own?.outcome === 'refused') return own;
    for (let pauseMs = FIRST_POLL_MS; ports.now() < until; pauseMs = Math.min(pauseMs * 2, MAX_POLL_MS)) {
      const row = await ports.publications.read(publicationId);
      const answer = row === undefined ? undefined : resultOf(row);
      if (answer !== undefined) return answer;
      await ports.sleep(pauseMs);
    }
    return { outcome: 'unknown' };
  };

  return {
    run,
    waitForResult,
    idle: async () => {
      await Promise.all([...runs.values()].map(({ finished }) => finished));
    },
  };
}

function resultOf({ state, refusal }: Publication): PublishResult | undefined {
  switch (state) {
    case 'PREPARING':
      return undefined;
    case 'COMMITTED':
    case 'DONE':
      return { outcome: 'committed' };
    case 'ABORTED':
    case 'ABORT_DONE':
      return { outcome: 'refused', refusal: refusal ?? OUT_OF_TIME };
    default:
      return state satisfies never;
  }
}
