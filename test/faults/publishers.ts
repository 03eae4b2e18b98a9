import { until } from '@kr/testbed';
import type { Entity } from '../e2e/story/answers.ts';
import { packageDocument, recordDocument } from '../e2e/story/documents.ts';
import type { HttpClient } from '../e2e/story/http-client.ts';
import { insistentClient, persistentClient } from '../e2e/story/persistent-client.ts';
import { link, relate } from '../e2e/story/stories.ts';
import type { Recorder } from '../history/history.ts';
import { numbered, witness } from './seen-by-clients.ts';

/** A package and its resources, published together by the publication of this number. */
export interface Group {
  publication: number;
  /** The package first. */
  members: readonly { id: string; path: string }[];
}

export interface Publishers {
  /** Packages in publication, and published ones. */
  readonly publishing: ReadonlySet<Group>;
  readonly published: readonly Group[];
  /** Wrong answers. */
  readonly unforeseen: string[];
  /** When each has made its first drafts; then they begin to publish. */
  readonly ready: Promise<void>;
  /** Lets them finish what they have begun. */
  stop(): Promise<void>;
}

interface Wishes {
  count: number;
  resources: number;
  recorder: Recorder;
}

/** A service that was killed is back sooner, on the slowest machine. */
const LONGEST_OUTAGE_MS = 120_000;

/** Each makes a package of drafts and publishes it, repeatedly, through all faults of the system. */
export function startPublishers(http: HttpClient, { count, resources, recorder }: Wishes): Publishers {
  const publishing = new Set<Group>();
  const published: Group[] = [];
  const patient = persistentClient(http, LONGEST_OUTAGE_MS);
  const unforeseen = patient.broken;
  let numbers = 0;
  let isStopped = false;
  const insistent = insistentClient(http, patient);

  const draft = async (): Promise<{ group: Group; main: Entity }> => {
    numbers += 1;
    const publication = numbers;
    const metadata = numbered({ publication, edits: [] });
    const main = await insistent.sure<Entity>('POST', '/packages', {
      json: packageDocument('Watched', { metadata }),
    });
    const parts: Entity[] = [];
    for (let part = 1; part <= resources; part += 1) {
      const json = recordDocument(`Watched, part ${part}`, { metadata });
      parts.push(await insistent.sure<Entity>('POST', '/records', { json }));
    }
    await relate(insistent, main, parts);
    const members = [
      { id: main.id, path: `/packages/${main.id}` },
      ...parts.map(({ id }) => ({ id, path: `/records/${id}` })),
    ];
    return { group: { publication, members }, main };
  };

  const publish = async (client: number, { group, main }: Awaited<ReturnType<typeof draft>>) => {
    const publisher = witness(http, client, { recorder, unforeseen });
    const ids = group.members.map(({ id }) => id);
    const path = new URL(link(main, 'publish')).pathname.replace('/api', '');
    publishing.add(group);
    const isPublished = async (): Promise<boolean> => {
      const answer = await publisher.publish(group.publication, ids, path);
      if (answer !== undefined && ![202, 409, 503].includes(answer.status)) {
        unforeseen.push(`POST ${path}: ${answer.status} ${answer.text}`);
      }
      return answer?.status === 202;
    };
    await until(isPublished, {
      timeoutMs: LONGEST_OUTAGE_MS,
      everyMs: 100,
      what: `the publication by ${path}`,
    });
    publishing.delete(group);
    published.push(group);
  };

  const first = Array.from({ length: count }, () => draft());
  const ready = Promise.allSettled(first).then(() => undefined);
  const publishers = first.map(async (made, client) => {
    try {
      await ready;
      for (let next = await made; ; next = await draft()) {
        await publish(client, next);
        if (isStopped) return;
      }
    } catch (thrown) {
      unforeseen.push(String(thrown));
    }
  });
  return {
    publishing,
    published,
    unforeseen,
    ready,
    stop: async () => {
      isStopped = true;
      await Promise.all(publishers);
    },
  };
}
