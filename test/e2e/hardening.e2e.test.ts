import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceName, ServiceVariables } from '@kr/local-stack';
import { type SharedSystem, sharedSystem } from '@kr/testbed/shared-system';
import type { Entity, FilesListing } from './story/answers.ts';
import { packageDocument, recordDocument } from './story/documents.ts';
import { EXAMPLE_FOLDERS } from './story/example-package.ts';
import { type HttpClient, httpClient, type Sent } from './story/http-client.ts';
import { link, publish, upload } from './story/stories.ts';

const run = promisify(execFile);
const project = resolve(import.meta.dirname, '../..');
const kr = resolve(project, 'clients/kr/src/main.ts');

/** The defaults of the operators. */
const DEFAULTS = {
  RATE_LIMIT_ANONYMOUS: '500',
  RATE_LIMIT_USER: '1000',
  RATE_LIMIT_FAILED_CREDENTIALS: '60',
};

let system: SharedSystem;
beforeAll(async () => {
  system = await sharedSystem();
  await system.relaunch('gateway', DEFAULTS);
});
afterAll(() => system?.stop());

async function newUser(name: string): Promise<{ token: string; client: HttpClient }> {
  const { token } = await system.createUser(name);
  return { token, client: httpClient(system.baseUrl, token) };
}

describe('limits of rates', () => {
  test('let a deposit of a hundred files through, however fast it is', async () => {
    const { client } = await newUser('depositor');
    const json = recordDocument('A hundred files', { withFiles: true });
    const draft = await client.sure<Entity>('POST', '/records', { json });
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    for (const start of numbers.filter((number) => number % 10 === 0)) {
      await Promise.all(
        numbers.slice(start, start + 10).map(async (number) => {
          const key = `${number}.txt`;
          await client.sure<FilesListing>('POST', link(draft, 'files'), { json: [{ key }] });
          const file = `${link(draft, 'files')}/${key}`;
          await client.sure('PUT', `${file}/content`, { bytes: Buffer.from(key) });
          await client.sure('POST', `${file}/commit`);
        }),
      );
    }
    expect((await publish(client, draft)).is_published).toBe(true);
  });

  test('stop an endless client, and no other; the command-line client waits and continues', async () => {
    const hasty = await newUser('hasty');
    const seen = new Map<number, number>();
    let refusal: Response | undefined;
    let asked = 0;
    const over = new AbortController();
    const asking = async (): Promise<void> => {
      while (refusal === undefined && asked < 20_000) {
        asked += 1;
        const headers = { authorization: `Bearer ${hasty.token}` };
        const answer = await fetch(`${system.baseUrl}/api/ping`, { headers, signal: over.signal });
        await answer.arrayBuffer();
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        if (answer.status === 429) refusal = answer;
      }
    };
    try {
      await Promise.all(Array.from({ length: 16 }, asking));
    } finally {
      // One that fails leaves none of the others at work.
      over.abort();
    }
    // The maximum number of concurrent requests, with those added by the elapsed time.
    expect(seen.get(200)).toBeGreaterThanOrEqual(2_000);
    expect([...seen.keys()].sort()).toEqual([200, 429]);
    expect(refusal?.headers.get('retry-after')).toBe('1');

    const other = await newUser('other');
    expect((await other.client.call('GET', '/user/records')).status).toBe(200);
    expect((await fetch(`${system.baseUrl}/api/ping`)).status).toBe(200);

    const [folder = ''] = EXAMPLE_FOLDERS;
    const env = { PATH: process.env['PATH'], KR_BASE_URL: system.baseUrl, KR_TOKEN: hasty.token };
    const load = [kr, 'package', 'load', folder, '--publish', '--json'];
    const { stdout } = await run(process.execPath, load, { env, timeout: 120_000 });
    expect(JSON.parse(stdout)).toMatchObject({ package: { id: expect.any(String) } });
  });
});

/** Of one exchange, what its headers depend on. */
interface Exchange {
  method: string;
  path: string;
  status: number;
  isOwner: boolean;
}

describe('headers', () => {
  /** Headers of a connection, not of an answer. */
  const FRAMING = new Set(['connection', 'date', 'keep-alive']);

  const OURS = {
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    vary: 'Accept, Authorization',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  };
  /** Bytes come from anybody, so a browser is to do even less with them. */
  const OF_BYTES = {
    ...OURS,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-download-options': 'noopen',
    'x-frame-options': 'SAMEORIGIN',
    'x-permitted-cross-domain-policies': 'none',
    'x-xss-protection': '1; mode=block',
  };
  const RATE = [
    'ratelimit',
    'ratelimit-policy',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
  ];
  const BODY = ['content-length', 'content-type'];
  const DOWNLOAD = [...BODY, 'accept-ranges', 'content-disposition', 'etag'];
  const TUS = ['tus-checksum-algorithm', 'tus-extension', 'tus-max-size', 'tus-version'];

  /** Published files and exports link to their entity (FAIR Signposting). */
  const SIGNPOSTED = /\/\{id\}\/(?:export\/\{format\}|files\/\{key\}\/content|files-archive)$/;

  /** The first match has the headers beside the common ones. */
  const CLASSES: { of: (exchange: Exchange) => boolean; safety?: object; names: string[] }[] = [
    { of: ({ status }) => status === 401, names: [...BODY, 'www-authenticate'] },
    { of: ({ status }) => status === 412, names: [...BODY, 'cache-control', 'tus-version'] },
    { of: ({ status }) => status >= 400, names: [...BODY, 'cache-control'] },
    { of: ({ method }) => method === 'OPTIONS', names: [...TUS, 'allow', 'cache-control'] },
    {
      of: ({ path }) => path.endsWith('/content'),
      safety: OF_BYTES,
      names: [...DOWNLOAD, 'cache-control', 'content-md5', 'last-modified', 'repr-digest'],
    },
    {
      of: ({ path }) => path.endsWith('/files-archive'),
      safety: OF_BYTES,
      names: [...DOWNLOAD, 'cache-control'],
    },
    {
      of: ({ path }) =>
        /^\/api\/(?:records|packages)(?:\/\{id\}(?:\/draft|\/versions\/latest)?)?$/.test(path),
      names: [...BODY, 'cache-control', 'etag'],
    },
    {
      of: ({ path }) => path === '/api/vocabularies/{type}/{termId}',
      names: [...BODY, 'cache-control', 'etag'],
    },
    { of: () => true, names: [...BODY, 'cache-control'] },
  ];

  const isFree = ({ method, path, isOwner, status }: Exchange): boolean =>
    isOwner && path.includes('/tus/') && method === 'PATCH' && status < 400;

  function expectedOf(exchange: Exchange): object {
    const { method, path, isOwner, status } = exchange;
    const isListing = method === 'GET' && /^\/api\/(?:records|packages)$/.test(path);
    const { safety = OURS, names = [] } = CLASSES.find(({ of }) => of(exchange)) ?? {};
    const all = [
      ...names.filter((name) => name !== 'etag' || !isListing),
      ...(isFree(exchange) ? [] : RATE),
      ...(path.includes('/tus') ? ['tus-resumable'] : []),
      ...(status === 201 ? ['location'] : []),
      ...(status < 400 && SIGNPOSTED.test(path) ? ['link'] : []),
      'x-request-id',
    ];
    return {
      ...exchange,
      headers: {
        ...Object.fromEntries(all.map((name) => [name, expect.any(String)])),
        ...safety,
        ...(names.includes('cache-control')
          ? { 'cache-control': isOwner ? 'private, no-cache' : 'no-cache' }
          : {}),
      },
    };
  }

  const told = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => !FRAMING.has(name)));

  let owner: HttpClient;
  let operations: { method: string; path: string }[];
  /** The value of a parameter in a path below one of these. */
  let things: { below: string; parameters: Record<string, string> }[];

  async function entityWithFile(all: string, document: object): Promise<Entity> {
    const draft = await owner.sure<Entity>('POST', all, { json: document });
    await upload(owner, draft, 'a.txt', Buffer.from('hello'));
    return draft;
  }

  async function thingsOf(all: string, document: object): Promise<typeof things> {
    const published = await publish(owner, await entityWithFile(all, document));
    const draft = await entityWithFile(all, document);
    const { entries } = await owner.sure<FilesListing>('POST', link(draft, 'files'), {
      json: [{ key: 'b' }],
    });
    const begun = await owner.call('POST', link(entries.find(({ key }) => key === 'b') ?? draft, 'tus'), {
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '5' },
    });
    const uploadId = begun.headers.get('location')?.split('/').at(-1) ?? '';
    const { id: linkId } = await owner.sure<{ id: string }>('POST', `${all}/${published.id}/access/links`, {
      json: { permission: 'view' },
    });
    const { id: parentId } = published.parent;
    return [
      { below: `/api${all}/context`, parameters: { parentId } },
      { below: `/api${all}/{id}/draft/files/{key}/tus`, parameters: { id: draft.id, key: 'b', uploadId } },
      { below: `/api${all}/{id}/draft`, parameters: { id: draft.id, key: 'a.txt', scheme: 'doi' } },
      { below: `/api${all}`, parameters: { id: published.id, key: 'a.txt', linkId } },
    ];
  }

  beforeAll(async () => {
    owner = (await newUser('owner')).client;
    const { paths } = await owner.sure<{ paths: Record<string, object> }>('GET', '/openapi.json');
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    );
    things = [
      ...(await thingsOf('/records', recordDocument('Seen', { withFiles: true }))),
      ...(await thingsOf('/packages', packageDocument('Seen', { withFiles: true }))),
      { below: '/api', parameters: { type: 'licenses', termId: 'cc-by-4.0', tokenId: '0' } },
    ];
  });

  /** The path with existing ids, or with unknown ones. */
  function fill(path: string, how: 'there' | 'nowhere'): string {
    const { parameters = {} } = things.find(({ below }) => path.startsWith(below)) ?? {};
    const known: Readonly<Record<string, string>> = { format: 'csl', ...parameters };
    return path.replaceAll(/\{(\w+)\}/g, (_, name) => (how === 'there' ? (known[name] ?? '0') : '0'));
  }

  test('of every operation are those of its class, for every caller and outcome', async () => {
    const anybody = httpClient(system.baseUrl);
    const seen: (Exchange & { headers: object })[] = [];
    for (const { method, path } of operations) {
      const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(method);
      for (const isOwner of [false, true]) {
        const target = `${system.baseUrl}${fill(path, isOwner && !isRead ? 'nowhere' : 'there')}`;
        const { status, headers } = await (isOwner ? owner : anybody).call(method, target);
        seen.push({ method, path, status, isOwner, headers: told(headers) });
      }
    }
    expect(seen).toEqual(seen.map(({ headers, ...exchange }) => expectedOf(exchange)));
    // Of every class there was at least one.
    const unseen = CLASSES.filter(({ of }) => !seen.some((exchange) => of(exchange)));
    expect(unseen).toEqual([]);
    const refused = seen.filter(
      ({ method, isOwner, status }) => method === 'GET' && isOwner && status >= 300,
    );
    expect(refused.map(({ path }) => path)).toEqual([
      '/api/records/{id}/draft/review',
      '/api/packages/{id}/draft/review',
    ]);
  });

  const MANY = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-h${index}`, '1']));
  test.each<{ status: number; method?: string; path: string; sent?: Sent; names?: string[] }>([
    { status: 404, path: '/nowhere' },
    { status: 405, path: '/', method: 'DELETE', names: ['allow'] },
    {
      status: 413,
      path: '/api/records',
      method: 'POST',
      sent: { raw: `"${'x'.repeat(1_048_576)}"` },
      names: ['cache-control'],
    },
    { status: 414, path: `/${'x'.repeat(8_192)}` },
    {
      status: 415,
      path: '/api/records',
      method: 'POST',
      sent: { bytes: Buffer.from('x') },
      names: ['cache-control'],
    },
    { status: 431, path: '/', sent: { headers: MANY } },
  ])('of a $status are those of all', async ({ status, method = 'GET', path, sent = {}, names = [] }) => {
    const answer = await owner.call(method, `${system.baseUrl}${path}`, sent);
    const all = ['content-length', 'x-request-id', ...RATE, ...names];
    expect([answer.status, told(answer.headers)]).toEqual([
      status,
      {
        ...Object.fromEntries(all.map((name) => [name, expect.any(String)])),
        ...OURS,
        'content-type': 'application/json',
      },
    ]);
  });
});

describe('a service without a secret', () => {
  const SECRETS: Record<ServiceName, readonly string[]> = {
    gateway: [
      'ACCESS_LINKS_KEY',
      'CALLER_KEYS',
      'FILES_KEY',
      'PACKAGES_KEY',
      'RECORDS_KEY',
      'SEALING_KEY',
      'SEARCH_KEY',
    ],
    records: [
      'ACCESS_LINKS_KEY',
      'ACCESS_LINKS_TICKET_KEY',
      'CALLER_KEYS',
      'FILES_KEY',
      'FILES_TICKET_KEY',
      'PACKAGES_KEY',
    ],
    packages: [
      'ACCESS_LINKS_KEY',
      'ACCESS_LINKS_TICKET_KEY',
      'CALLER_KEYS',
      'FILES_KEY',
      'FILES_TICKET_KEY',
      'RECORDS_KEY',
    ],
    files: ['CALLER_KEYS', 'FILES_TICKET_KEY', 'PACKAGES_KEY', 'RECORDS_KEY'],
    'access-links': ['ACCESS_LINKS_TICKET_KEY', 'CALLER_KEYS', 'LINK_TOKEN_KEY'],
    search: ['CALLER_KEYS', 'PACKAGES_KEY', 'RECORDS_KEY'],
  };
  const services = Object.entries(SECRETS) as [ServiceName, readonly string[]][];

  const without = (environment: ServiceVariables, names: readonly string[]): ServiceVariables =>
    Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));

  test.each(services)('%s: all of them are known here', (service, secrets) => {
    const given = Object.keys(system.environments[service]).filter((name) => /_KEYS?$/.test(name));
    expect(given.filter((name) => !(name in process.env)).sort()).toEqual(secrets);
  });

  test.each(services)(
    '%s: each one that is missing or short is named, and no value',
    async (service, secrets) => {
      const { readConfig } = (await import(resolve(project, `services/${service}/src/config.ts`))) as {
        readConfig: (environment: ServiceVariables) => unknown;
      };
      const environment = system.environments[service];
      expect(() => readConfig(environment)).not.toThrow();
      for (const name of secrets) {
        const problem = { message: expect.stringMatching(`1 problem.*\n  ${name} `) };
        for (const value of [undefined, '', 'hunter2']) {
          const read = () => readConfig({ ...environment, [name]: value });
          expect(read).toThrow(expect.objectContaining(problem));
          expect(read).not.toThrow('hunter2');
        }
      }
    },
  );

  test.each(services)('%s: does not start, and reports it', async (service, secrets) => {
    const started = run(process.execPath, [resolve(project, `services/${service}/src/main.ts`)], {
      env: without(system.environments[service], secrets),
      timeout: 120_000,
    });
    const problem = { code: 1, stderr: expect.stringContaining(`has ${secrets.length} problem(s)`) };
    await expect(started).rejects.toMatchObject(problem);
    const { stderr } = await started.catch((thrown: { stderr: string }) => thrown);
    for (const name of secrets) expect(stderr).toContain(`${name} is not set`);
  });
});
