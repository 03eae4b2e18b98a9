import { asObject } from './compare.ts';
import type { Player } from './replay.ts';
import type { Exchange, Recording } from './transcript.ts';

/** An entity as it was first seen in a recording, as far as clients say it. */
type DocumentOf = (id: string) => Record<string, unknown>;

type Step = (by: Player, documentOf: DocumentOf) => Promise<void>;

/** Each recording lacks some exchanges; what they must have done, by the number of the next one that needs it. */
export const MISSING_STEPS: Record<Recording, Readonly<Record<number, Step>>> = {
  packages: {
    14: async (by, documentOf) => {
      await create(by, 'records', '3q05s-cn264', documentOf('3q05s-cn264'));
      await create(by, 'records', 'jfj01-dkz02', documentOf('jfj01-dkz02'));
      await publish(by, 'records', 'jfj01-dkz02');
      await create(by, 'records', 'jvn1f-3ga86', documentOf('jvn1f-3ga86'), 'other');
    },
    25: async (by) => {
      await add(by, '99tyq-h2423', ['e4bra-ram86', 'jfj01-dkz02']);
    },
    // The original let the draft of somebody else in; from here on, one of the owner's takes its place.
    27: async (by, documentOf) => {
      await by.sure('DELETE', '/records/jvn1f-3ga86/draft', undefined, 'other');
      await create(by, 'records', 'jvn1f-3ga86', documentOf('jvn1f-3ga86'));
      await associate(by, '99tyq-h2423', ['jvn1f-3ga86']);
    },
    41: async (by) => {
      await by.sure(
        'POST',
        '/packages/99tyq-h2423/context/actions/dissociate',
        listOf('records', ['3q05s-cn264']),
      );
    },
    43: async (by, documentOf) => {
      await create(by, 'packages', '6pvrx-f8x09', documentOf('6pvrx-f8x09'));
      await create(
        by,
        'records',
        '4tgnv-4es63',
        resource('Broken', { creators: undefined, publication_date: undefined }),
      );
      await create(by, 'records', '9b3e4-dm112', resource('Good'));
      await associate(by, '6pvrx-f8x09', ['4tgnv-4es63', '9b3e4-dm112']);
    },
    49: async (by) => {
      await create(by, 'packages', 'd2rw9-kaj49', { files: { enabled: false } });
    },
    61: (by) => newVersion(by, 'packages', '99tyq-h2423', 'dg14r-wfw30'),
    65: (by, documentOf) => create(by, 'records', 'g69dj-saq13', documentOf('g69dj-saq13')),
    69: (by) => publish(by, 'packages', 'dg14r-wfw30'),
    73: (by) => newVersion(by, 'packages', '99tyq-h2423', '6f3a4-fhs63'),
    // Here the version needed a date.
    74: async (by, documentOf) => {
      await by.sure('PUT', '/packages/6f3a4-fhs63/draft', documentOf('6f3a4-fhs63'));
      await publish(by, 'packages', '6f3a4-fhs63');
    },
    77: async (by, documentOf) => {
      await create(by, 'packages', 'z27cc-80k44', { files: { enabled: false } });
      await create(by, 'records', '2ewkg-6k552', documentOf('2ewkg-6k552'));
      await associate(by, 'z27cc-80k44', ['2ewkg-6k552']);
      await add(by, 'z27cc-80k44', ['2ewkg-6k552']);
      await by.sure('DELETE', '/packages/z27cc-80k44/draft');
    },
    79: async (by) => {
      await create(by, 'packages', '0000a-00a00', { files: { enabled: false } });
      await create(by, 'records', '5vds4-0nr02', resource('In a package'));
      await associate(by, '0000a-00a00', ['5vds4-0nr02']);
      await add(by, '0000a-00a00', ['5vds4-0nr02']);
    },
    81: (by, documentOf) => create(by, 'packages', '40vfm-jsv73', documentOf('40vfm-jsv73')),
    85: async (by) => {
      await by.sure('POST', '/packages/40vfm-jsv73/draft/files/notes.txt/commit');
    },
    89: async (by, documentOf) => {
      await create(by, 'packages', '3g4pj-0d875', documentOf('3g4pj-0d875'));
      await create(by, 'records', 'twxff-x1d79', documentOf('twxff-x1d79'));
      await associate(by, '3g4pj-0d875', ['twxff-x1d79']);
      await add(by, '3g4pj-0d875', ['twxff-x1d79']);
    },
    101: (by) => publish(by, 'packages', '3g4pj-0d875'),
    110: (by, documentOf) => create(by, 'records', 'acxd9-s6x94', documentOf('acxd9-s6x94')),
    111: async (by) => {
      await publish(by, 'packages', 'q1ncy-bch79');
      await by.sure('DELETE', '/packages/3g4pj-0d875/draft');
    },
    147: (by) => newVersion(by, 'packages', '40vfm-jsv73', '1rtzb-8hd24'),
  },
  records: {
    45: (by) => upload(by, 'r6yym-7p680', 'third.txt', 'third\n'),
    51: (by) => upload(by, 'r6yym-7p680', 'empty.bin', ''),
    53: async (by) => {
      await create(by, 'records', 'df74h-tm103', resource('Odd names', {}, true));
      await by.sure('POST', '/records/df74h-tm103/draft/files', [{ key: 'ação carta.txt' }]);
    },
    71: async (by) => {
      await by.sure('DELETE', '/records/r6yym-7p680/draft/pids/doi');
      await by.sure('DELETE', '/records/r6yym-7p680/draft/files/third.txt');
      await by.sure('DELETE', '/records/r6yym-7p680/draft/files/empty.bin');
    },
    109: async (by, documentOf) => {
      const { metadata, ...others } = documentOf('nfxqr-16j55');
      const dated = { ...asObject(metadata), ...VERSION_TWO };
      await by.sure('PUT', '/records/nfxqr-16j55/draft', { ...others, metadata: dated });
    },
    115: (by, documentOf) => publishWithFile(by, 'xt7qv-n5729', documentOf),
    129: async (by) => {
      const wanted = { permission: 'preview', expires_at: '2030-01-01T00:00:00' };
      const created = await by.sure('POST', '/records/xt7qv-n5729/access/links', wanted);
      learnId(by, 'eecbc970-74d7-4308-a3f8-045268655e57', created);
    },
    139: async (by) => {
      await by.sure('POST', '/records/xt7qv-n5729/draft');
    },
    146: (by, documentOf) => publishWithFile(by, '6wjx5-rc876', documentOf),
    149: async (by, documentOf) => {
      await create(by, 'records', '0hyzw-vem76', documentOf('0hyzw-vem76'));
      await publish(by, 'records', '0hyzw-vem76');
    },
    151: async (by, documentOf) => {
      await publishWithFile(by, 'sgzar-1r018', documentOf);
      await publishWithFile(by, 'dsfxw-9d791', documentOf);
    },
    203: (by, documentOf) => publishWithFile(by, '8t5mc-v6n77', documentOf),
  },
};

/** Remembers every entity as a recording first shows it. */
export function documentsIn(exchanges: readonly Exchange[]): DocumentOf {
  const documents = new Map<string, Record<string, unknown>>();
  const remember = (value: unknown): void => {
    for (const part of Array.isArray(value) ? value : Object.values(asObject(value) ?? {})) remember(part);
    const body = asObject(value);
    if (body === undefined) return;
    const { id, metadata, access, files, parent } = body;
    if (typeof id === 'string' && parent !== undefined && !documents.has(id)) {
      documents.set(id, { metadata, access, files: { enabled: asObject(files)?.['enabled'] } });
    }
  };
  for (const { answer } of exchanges) remember(answer.json);
  return (id) => {
    const document = documents.get(id);
    if (document === undefined) throw new Error(`${id} is in no recorded answer`);
    return document;
  };
}

const VERSION_TWO = { title: 'Flood map, version two', publication_date: '2024-03-01', version: '2.0' };

type Collection = 'records' | 'packages';

async function create(
  by: Player,
  collection: Collection,
  recordedId: string,
  document: unknown,
  caller: 'owner' | 'other' = 'owner',
): Promise<void> {
  learnId(by, recordedId, await by.sure('POST', `/${collection}`, document, caller));
}

async function newVersion(by: Player, collection: Collection, of: string, recordedId: string): Promise<void> {
  learnId(by, recordedId, await by.sure('POST', `/${collection}/${of}/versions`));
}

function learnId(by: Player, recordedId: string, created: unknown): void {
  by.ids.learn(recordedId, String(asObject(created)?.['id']));
}

async function publish(by: Player, collection: Collection, id: string): Promise<void> {
  await by.sure('POST', `/${collection}/${id}/draft/actions/publish`);
}

async function upload(by: Player, id: string, key: string, content: string): Promise<void> {
  const files = `/records/${id}/draft/files`;
  await by.sure('POST', files, [{ key }]);
  await by.put(`${files}/${key}/content`, content);
  await by.sure('POST', `${files}/${key}/commit`);
}

async function publishWithFile(by: Player, id: string, documentOf: DocumentOf): Promise<void> {
  await create(by, 'records', id, { ...documentOf(id), files: { enabled: true } });
  await upload(by, id, 'map.txt', 'hello world\n');
  await publish(by, 'records', id);
}

async function associate(by: Player, packageId: string, ids: readonly string[]): Promise<void> {
  await by.sure('POST', `/packages/${packageId}/context/actions/associate`, listOf('records', ids));
}

async function add(by: Player, packageId: string, ids: readonly string[]): Promise<void> {
  await by.sure('POST', `/packages/${packageId}/draft/resources`, listOf('resources', ids));
}

function listOf(key: string, ids: readonly string[]) {
  return { [key]: ids.map((id) => ({ id })) };
}

function resource(title: string, others: Record<string, unknown> = {}, hasFiles = false) {
  const creators = [{ person_or_org: { type: 'personal', family_name: 'Moreau', given_name: 'Lise' } }];
  const metadata = {
    title,
    publication_date: '2024-03-01',
    resource_type: { id: 'image-photo' },
    creators,
    ...others,
  };
  return { access: { record: 'public', files: 'public' }, files: { enabled: hasFiles }, metadata };
}
