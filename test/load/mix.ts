import { createHash, randomBytes } from 'node:crypto';
import type { JsonClient } from '../bench/json-client.ts';
import {
  createDraft,
  createPackage,
  manyAtOnce,
  publishRecord,
  recordBody,
} from '../bench/scenarios/deposit.ts';
import type { Group } from '../faults/publishers.ts';
import { numbered } from '../faults/seen-by-clients.ts';
import type { Recorder } from '../history/history.ts';
import type { Tally } from './tally.ts';
import type { Answered, TimedClient } from './timed-client.ts';

/** The mix of requests, by share: 70 %, 15 %, 10 %, 4 % and 1 %. */
const SHARES = [
  { kind: 'read', upTo: 0.7 },
  { kind: 'search', upTo: 0.85 },
  { kind: 'edit', upTo: 0.95 },
  { kind: 'upload', upTo: 0.99 },
  { kind: 'publish', upTo: 1 },
] as const;

export type Kind = (typeof SHARES)[number]['kind'];

const PUBLISHED = 200;
const EDITED = 128;
const FILES_EACH = 50;
const RESOURCES = 10;
const MIB = 1_048_576;
const WORDS = ['levels', 'river', 'gauges', 'observatory', 'daily', 'water'];

export interface MixDeps {
  client: TimedClient;
  repository: JsonClient;
  token: string;
  recorder: Recorder;
  random: () => number;
}

export interface Mix {
  /** Sends one request of a random kind, and records it. Never rejects. */
  one(tally: Tally): Promise<void>;
  /** Prepares packages for publishing; without any left a publish becomes a read. */
  stock(packages: number): Promise<void>;
  readonly publishing: ReadonlySet<Group>;
  readonly published: readonly Group[];
  /** Acknowledged changes that are missing. */
  lost(): Promise<string[]>;
}

/** Prepares what is read, searched, changed and published. */
export async function openMix(deps: MixDeps): Promise<Mix> {
  const { client, repository, token, recorder, random } = deps;
  const read: string[] = [];
  await manyAtOnce(PUBLISHED, 8, async (index) => {
    const { id } = await publishRecord(repository, `River levels of the gauges, part ${index}`);
    read.push(`/api/records/${id}`);
  });
  const idle: { id: string; edit: number }[] = [];
  await manyAtOnce(EDITED, 8, async (index) => {
    idle.push({ id: (await createDraft(repository, `Edited ${index}`)).id, edit: 0 });
  });
  const acknowledged = new Map<string, number>();
  const bytes = randomBytes(MIB);
  const checksum = `md5:${createHash('md5').update(bytes).digest('hex')}`;
  const uploaded: string[] = [];
  let holder: { id: Promise<string>; files: number } | undefined;
  const stocked: Group[] = [];
  const publishing = new Set<Group>();
  const published: Group[] = [];
  let numbers = 0;

  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

  const doRead = () =>
    client.ask({ method: 'GET', path: pick(read), token: random() < 0.5 ? token : undefined });

  const doSearch = () =>
    client.ask({ method: 'GET', path: `/api/records?q=${pick(WORDS)}+${pick(WORDS)}&size=10` });

  const doEdit = async (): Promise<Answered> => {
    const draft = idle.pop();
    if (draft === undefined) return doRead();
    const edit = draft.edit + 1;
    const body = JSON.stringify(recordBody('Edited', { version: String(edit) }));
    const answered = await client.ask({ method: 'PUT', path: `/api/records/${draft.id}/draft`, token, body });
    if (answered.status === 200) acknowledged.set(draft.id, edit);
    // A draft with an edit of unknown outcome is not edited again, so that its expected content stays known.
    if (answered.status === 200 || answered.status === 503) idle.unshift({ id: draft.id, edit });
    return answered;
  };

  const doUpload = async (): Promise<Answered> => {
    if (holder === undefined || holder.files === FILES_EACH) {
      const body = recordBody('Holds files') as Record<string, unknown>;
      const made = repository.send('POST', '/api/records', { ...body, files: { enabled: true } });
      holder = { id: made.then((answer) => (answer as { id: string }).id), files: 0 };
    }
    holder.files += 1;
    const key = `${holder.files}.bin`;
    const id = await holder.id.catch(() => undefined);
    if (id === undefined) {
      holder = undefined;
      return doRead();
    }
    const path = `/api/records/${id}/draft/files`;
    const steps = [
      { method: 'POST', path, token, body: JSON.stringify([{ key }]) },
      { method: 'PUT', path: `${path}/${key}/content`, token, body: bytes },
      { method: 'POST', path: `${path}/${key}/commit`, token },
    ] as const;
    let took = 0;
    for (const step of steps) {
      const answered = await client.ask(step);
      if (answered.status >= 300 || answered.status === 0) return answered;
      took += answered.took;
    }
    uploaded.push(`${path}/${key}`);
    return { status: 200, took, retryAfter: undefined, text: '' };
  };

  const doPublish = async (): Promise<Answered> => {
    const group = stocked.pop();
    const main = group?.members[0];
    if (group === undefined || main === undefined) return doRead();
    publishing.add(group);
    let answered: Answered | undefined;
    const entities = group.members.map(({ id }) => id);
    await recorder.record(
      group.publication,
      { do: 'publish', publication: group.publication, entities },
      async () => {
        answered = await client.ask({
          method: 'POST',
          path: `/api${main.path}/draft/actions/publish`,
          token,
        });
        return answered.status === 202 ? { type: 'ok' } : { type: 'info' };
      },
    );
    publishing.delete(group);
    if (answered?.status === 202) published.push(group);
    return answered as unknown as Answered;
  };

  const work: Record<Kind, () => Promise<Answered>> = {
    read: doRead,
    search: doSearch,
    edit: doEdit,
    upload: doUpload,
    publish: doPublish,
  };

  return {
    async one(tally) {
      const chance = random();
      const { kind } = SHARES.find(({ upTo }) => chance < upTo) ?? SHARES[0];
      tally.note(kind, await work[kind]());
    },
    async stock(packages) {
      await manyAtOnce(Math.max(0, packages - stocked.length), 2, async () => {
        numbers += 1;
        const publication = numbers;
        const { id, resources } = await createPackage(
          repository,
          RESOURCES,
          numbered({ publication, edits: [] }),
        );
        const members = [
          { id, path: `/packages/${id}` },
          ...resources.map((resource) => ({ id: resource.id, path: `/records/${resource.id}` })),
        ];
        stocked.push({ publication, members });
      });
    },
    publishing,
    published,
    async lost() {
      const lost: string[] = [];
      const get = async (path: string) => (await repository.send('GET', path)) as Record<string, unknown>;
      await manyAtOnce(acknowledged.size, 8, async (index) => {
        const [id, edit] = [...acknowledged][index] as [string, number];
        const { metadata } = await get(`/api/records/${id}/draft`);
        if (Number((metadata as { version: string }).version) < edit) lost.push(`edit ${edit} of ${id}`);
      });
      await manyAtOnce(uploaded.length, 8, async (index) => {
        const path = uploaded[index] as string;
        const entry = await get(path);
        if (entry['status'] !== 'completed' || entry['checksum'] !== checksum) lost.push(path);
      });
      const members = published.flatMap((group) => group.members.map((member) => ({ ...member, group })));
      await manyAtOnce(members.length, 8, async (index) => {
        const { path, group } = members[index] as (typeof members)[number];
        const { metadata } = await get(`/api${path}`);
        if (Number((metadata as { version: string }).version) !== group.publication) lost.push(path);
      });
      return lost;
    },
  };
}
