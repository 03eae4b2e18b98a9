import { setTimeout as sleep } from 'node:timers/promises';
import { oneOf } from '@kr/testbed';
import { Agent, request } from 'undici';
import type { Outcome, Recorder } from '../history/history.ts';
import type { Group } from './publishers.ts';

export interface ReadersDeps {
  baseUrl: string;
  count: number;
  recorder: Recorder;
  /** The clients of the history have numbers from here on. */
  firstClient: number;
  random: () => number;
  /** The next target; undefined while there is none. */
  next: () => Group | undefined;
}

export interface Readers {
  /** Reads of a package and one of its resources, in either order, that were both answered. */
  readonly pairs: number;
  readonly unforeseen: string[];
  /** Every reader checks these as a whole. */
  lookAt(groups: readonly Group[]): Promise<void>;
  stop(): Promise<void>;
}

/** How many resources are read with their package; all of them would make the pairs drift apart. */
const AT_ONCE = 5;
const READ_TIMEOUT_MS = 15_000;
/** Milliseconds until a retry after no answer. */
const RETURN_MS = 20;

/**
 * Strangers who read packages and their resources all the time: half of them the package first, half of them last.
 * They check only the status and the number of the publication, and are cheap.
 */
export function startReaders(deps: ReadersDeps): Readers {
  const agent = new Agent({ connections: deps.count, pipelining: 1 });
  const unforeseen: string[] = [];
  let pairs = 0;
  let isStopped = false;

  const read = async (client: number, { id, path }: Group['members'][number]): Promise<boolean> => {
    const outcome = await deps.recorder.record(client, { do: 'read', entity: id, form: 'published' }, () =>
      look(`${deps.baseUrl}/api${path}`, agent, unforeseen),
    );
    if (outcome.type === 'info') await sleep(RETURN_MS);
    return outcome.type === 'ok';
  };

  const lookAt = async (client: number, { members }: Group, most: number): Promise<void> => {
    const [main, ...resources] = members;
    if (main === undefined) return;
    const start = Math.floor(deps.random() * resources.length);
    const some = [...resources.slice(start), ...resources.slice(0, start)].slice(0, most);
    const isPackageFirst = client % 2 === 0;
    const answered: boolean[] = [];
    for (const member of isPackageFirst ? [main, ...some] : [...some, main]) {
      answered.push(await read(client, member));
    }
    const ofPackage = isPackageFirst ? answered.shift() : answered.pop();
    if (ofPackage === true) pairs += answered.filter((isAnswered) => isAnswered).length;
  };

  const readers = Array.from({ length: deps.count }, async (_, reader) => {
    while (!isStopped) {
      const group = deps.next();
      if (group === undefined) await sleep(RETURN_MS);
      else await lookAt(deps.firstClient + reader, group, AT_ONCE);
    }
  });
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(readers);
  };
  return {
    get pairs() {
      return pairs;
    },
    unforeseen,
    lookAt: async (groups) => {
      await stop();
      await Promise.all(
        readers.map(async (_, reader) => {
          for (const group of groups) {
            if (group.publication % readers.length === reader) {
              await lookAt(deps.firstClient + reader, group, group.members.length);
            }
          }
        }),
      );
    },
    stop: async () => {
      await stop();
      await agent.close();
    },
  };
}

/** Prefers packages in publication to published ones, and of these late ones. */
export function preferring(
  random: () => number,
  { publishing, published }: { publishing: ReadonlySet<Group>; published: readonly Group[] },
): Group | undefined {
  const late = published.slice(-16);
  const chosen = publishing.size > 0 && (late.length === 0 || random() < 0.7) ? [...publishing] : late;
  return chosen.length === 0 ? undefined : oneOf(random, chosen);
}

async function look(url: string, dispatcher: Agent, unforeseen: string[]): Promise<Outcome> {
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      headersTimeout: READ_TIMEOUT_MS,
      bodyTimeout: READ_TIMEOUT_MS,
    });
    const text = await body.text();
    if (statusCode === 404) return { type: 'ok', seen: 'absent' };
    const number = /"version":"(\d+)"/.exec(text)?.[1];
    if (statusCode === 200 && number !== undefined) {
      return { type: 'ok', seen: { publication: Number(number), values: [] } };
    }
    if (statusCode !== 503) unforeseen.push(`GET ${url}: ${statusCode} ${text}`);
    return { type: 'info' };
  } catch {
    // No answer proves nothing.
    return { type: 'info' };
  }
}
