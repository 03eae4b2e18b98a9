import { publishRecord, recordBody } from '../scenarios/deposit.ts';
import type { Attack, Bystander, Operation, Target } from './attack.ts';
import { addressOf, repeatedly, slowDownloads } from './attackers.ts';

const FILE_BYTES = 20 * 1_048_576;
const SMALL_FILE = Buffer.alloc(65_536, 'gauge ');

const SLOW_DOWNLOADS: Attack = {
  name: '1,000 slow downloads of one anonymous address',
  prepare: async (target) => {
    const large = await publishedFile(target, Buffer.alloc(FILE_BYTES, 'level '));
    const small = await publishedFile(target, SMALL_FILE);
    const download: Operation = {
      name: 'download 64 KiB',
      open:
        async ({ client }) =>
        () =>
          client.drain('GET', small),
    };
    const upload: Operation = {
      name: 'upload 64 KiB',
      open: async ({ client, token }) => {
        const path = await pendingFile({ ...target, repository: client, token });
        return () => putContent(target.stack.baseUrl, path, token, SMALL_FILE);
      },
    };
    return {
      operations: [download, upload],
      start: (round) =>
        slowDownloads(target.stack.baseUrl, { address: addressOf(round, 0), path: large, count: 1_000 }),
    };
  },
};

/** Long texts whose words the wildcards of the attack are compared with. */
const LARGE_RECORDS = 24;
const LARGE_TEXTS = 14;
/** As many wildcards as a query may have, two of which are compared with all words of the documents. */
const WILDCARDS = '/api/records?q=abc*z%20OR%20def*z%20OR%20ghi*%20OR%20jkl*%20OR%20mno*&size=1';

const WILDCARD_QUERIES: Attack = {
  name: 'wildcard queries of four anonymous clients',
  prepare: async ({ stack, repository }) => {
    for (let n = 0; n < 10; n += 1) await publishRecord(repository, `Found by a bystander ${n}`);
    for (let n = 0; n < LARGE_RECORDS; n += 1) {
      const description = (text: number) =>
        Array.from({ length: 8_000 }, (_, word) =>
          (word * 7_919 + text * 104_729 + n * 1_299_709).toString(36),
        ).join(' ');
      const { id } = (await repository.send(
        'POST',
        '/api/records',
        recordBody(`Long texts ${n}`, {
          additional_descriptions: Array.from({ length: LARGE_TEXTS }, (_, text) => ({
            description: description(text),
            type: { id: 'abstract' },
          })),
        }),
      )) as { id: string };
      await repository.send('POST', `/api/records/${id}/draft/actions/publish`);
    }
    return {
      operations: [
        reading('search', '/api/records?q=bystander&size=10'),
        reading('own records', '/api/user/records'),
      ],
      start: async (round) =>
        repeatedly(
          stack.baseUrl,
          Array.from({ length: 4 }, (_, client) => ({ address: addressOf(round, client), path: WILDCARDS })),
        ),
    };
  },
};

const NESTED_TAGS: Attack = {
  name: 'drafts of 1 MB of nested tags of one user',
  prepare: async ({ stack, repository }) => {
    const { id } = await publishRecord(repository, 'A record for bystanders');
    const texts = Array.from({ length: 15 }, () => ({
      description: '<b>'.repeat(21_800),
      type: { id: 'abstract' },
    }));
    const body = JSON.stringify(recordBody('Nested', { additional_descriptions: texts }));
    const edit: Operation = {
      name: 'edit a draft',
      open: async ({ client }) => {
        const draft = (await client.send('POST', '/api/records', recordBody('Edited'))) as { id: string };
        const again = JSON.stringify(recordBody('Edited again'));
        return () => client.drain('PUT', `/api/records/${draft.id}/draft`, again);
      },
    };
    return {
      operations: [reading('read a record', `/api/records/${id}`), edit],
      start: async (round) => {
        const { token } = await stack.createUser(`attacker-${round}`);
        return repeatedly(stack.baseUrl, [
          { address: addressOf(round, 0), path: '/api/records', method: 'POST', token, body },
        ]);
      },
    };
  },
};

export const ATTACKS: readonly Attack[] = [SLOW_DOWNLOADS, WILDCARD_QUERIES, NESTED_TAGS];

function reading(name: string, path: string): Operation {
  return {
    name,
    open:
      async ({ client }: Bystander) =>
      () =>
        client.drain('GET', path),
  };
}

interface Owner extends Pick<Target, 'stack' | 'token'> {
  repository: Target['repository'];
}

/** The path of the content of a public file. */
async function publishedFile(owner: Owner, bytes: Buffer): Promise<string> {
  const path = await pendingFile(owner);
  await putContent(owner.stack.baseUrl, path, owner.token, bytes);
  const draft = path.slice(0, path.indexOf('/files/'));
  await owner.repository.send('POST', `${draft}/files/data.bin/commit`);
  await owner.repository.send('POST', `${draft}/actions/publish`);
  return path.replace('/draft/', '/');
}

/** The path of the content of a file that a new draft expects. */
async function pendingFile({ repository }: Owner): Promise<string> {
  const document = { ...(recordBody('With a file') as object), files: { enabled: true } };
  const { id } = (await repository.send('POST', '/api/records', document)) as { id: string };
  await repository.send('POST', `/api/records/${id}/draft/files`, [{ key: 'data.bin' }]);
  return `/api/records/${id}/draft/files/data.bin/content`;
}

async function putContent(baseUrl: string, path: string, token: string, bytes: Buffer): Promise<void> {
  const answer = await fetch(new URL(path, baseUrl), {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body: new Uint8Array(bytes),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`PUT ${path} answered ${answer.status}: ${text}`);
}
