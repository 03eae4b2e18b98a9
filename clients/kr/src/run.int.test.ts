import { truncateSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type FakeRepository, fakeRepository } from './api/fake-repository.ts';
import { run } from './run.ts';
import { createTerminal } from './terminal/terminal.ts';

let repository: FakeRepository;
let folder: string;

beforeEach(async () => {
  repository = await fakeRepository();
  folder = await mkdtemp(join(tmpdir(), 'kr-client-'));
});
afterEach(async () => {
  await repository[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function kr(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const terminal = createTerminal(
    {
      write: (text) => {
        out += text;
      },
    },
    {
      write: (text) => {
        err += text;
      },
    },
  );
  const known = {
    KR_BASE_URL: repository.baseUrl,
    KR_TOKEN: 'good',
    XDG_CONFIG_HOME: join(folder, 'config'),
  };
  const code = await run(args, { terminal, env: { ...known, ...env }, cwd: folder });
  return { code, out, err };
}

async function write(path: string, content: string | Buffer | object): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(
    file,
    typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
  );
}

const LARGE = Buffer.alloc(3_000_000, 'flood ');

async function writePackage(): Promise<void> {
  await write('flood/knowledge-package.json', {
    knowledge_package: {
      metadata_file: 'metadata/package.json',
      files: ['files/method.md'],
      options: { include_doi: true },
    },
    resources: [
      {
        metadata_file: 'metadata/a.json',
        files: ['files/large.bin', 'files/ä b.txt'],
        options: { include_doi: true },
      },
      { metadata_file: 'metadata/b.json', files: [], options: { include_doi: false } },
    ],
  });
  await write('flood/metadata/package.json', {
    metadata: { title: 'Floods', anything: { kept: [1] } },
    files: { enabled: true },
  });
  await write('flood/metadata/a.json', {
    metadata: { title: 'Gauges' },
    files: { enabled: true, default_preview: 'large.bin' },
  });
  await write('flood/metadata/b.json', { metadata: { title: 'Article' }, files: { enabled: false } });
  await write('flood/files/method.md', '# Method');
  await write('flood/files/large.bin', LARGE);
  await write('flood/files/ä b.txt', '');
}

/** The contents of a loaded folder, without its ids. */
function stored(): unknown {
  const titleOf = (id: string): unknown => Object(repository.entities.get(id)?.document['metadata'])['title'];
  return Object.fromEntries(
    [...repository.entities].map(([id, { isPublished, doi, files, context, resources }]) => [
      titleOf(id),
      {
        isPublished,
        hasDoi: doi !== undefined,
        files: [...files].map(([key, { bytes, isCommitted }]) => [key, bytes?.length, isCommitted]),
        context: context.map(titleOf),
        resources: resources.map(titleOf),
      },
    ]),
  );
}

const LOADED = {
  Floods: {
    isPublished: true,
    hasDoi: true,
    files: [['method.md', 8, true]],
    context: ['Gauges', 'Article'],
    resources: ['Gauges', 'Article'],
  },
  Gauges: {
    isPublished: true,
    hasDoi: true,
    files: [
      ['large.bin', 3_000_000, true],
      ['ä b.txt', 0, true],
    ],
    context: [],
    resources: [],
  },
  Article: { isPublished: true, hasDoi: false, files: [], context: [], resources: [] },
};

describe('kr package load', () => {
  test('publishes a folder unchanged and prints the result', async () => {
    await writePackage();
    const { code, out } = await kr(['package', 'load', 'flood', '--publish', '--json']);
    expect(code).toBe(0);
    expect(stored()).toEqual(LOADED);
    const printed = JSON.parse(out) as {
      package: Record<string, unknown>;
      resources: Record<string, unknown>[];
    };
    const { id } = printed.package;
    expect(printed.package).toEqual({
      id,
      kind: 'package',
      title: 'Floods',
      is_published: true,
      doi: `10.5072/${id}`,
      links: {
        self: `${repository.baseUrl}/api/packages/${id}`,
        self_html: `${repository.baseUrl}/packages/${id}`,
      },
      files: [{ key: 'method.md', size: 8, checksum: 'md5:a8236a2884b582c694ac38df379efbe4' }],
    });
    expect(
      printed.resources.map(({ title, is_published: isPublished, doi }) => [
        title,
        isPublished,
        doi !== null,
      ]),
    ).toEqual([
      ['Gauges', true, true],
      ['Article', true, false],
    ]);
    expect(repository.entities.get(String(id))?.document).toEqual({
      metadata: { title: 'Floods', anything: { kept: [1] } },
      files: { enabled: true },
    });
  });

  test('leaves drafts without --publish, and prints the progress line by line', async () => {
    await writePackage();
    const { code, out, err } = await kr(['package', 'load', 'flood']);
    expect(code).toBe(0);
    expect([...repository.entities.values()].map(({ isPublished }) => isPublished)).toEqual([
      false,
      false,
      false,
    ]);
    expect(out).toMatch(/^Draft package with 2 resources\npackage {3}abcde-\d{5} {2}Floods\n {2}doi/);
    expect(err).toMatch(/uploaded large\.bin \(3\.0 MB\), \d of 3/);
  });

  test.each<{ name: string; lost: RegExp; how: 'lost' | 'dropped' | 503 | 429 }>([
    { name: 'the start of uploads was done but not answered', lost: /^POST .*files$/, how: 'lost' },
    { name: 'content is aborted', lost: /^POST .*large\.bin\/tus$/, how: 'dropped' },
    { name: 'the store of files is busy', lost: /^POST .*large\.bin\/tus$/, how: 503 },
    { name: 'a commit was done but not answered', lost: /^POST .*commit$/, how: 'lost' },
    { name: 'a DOI was reserved but not answered', lost: /^POST .*doi$/, how: 'lost' },
    { name: 'the association was done but not answered', lost: /associate$/, how: 'lost' },
    { name: 'the publication was done but not answered', lost: /publish$/, how: 'lost' },
    { name: 'a service is away for a moment', lost: /^POST \/api\/records$/, how: 503 },
    { name: 'there were too many requests', lost: /^POST \/api\/packages$/, how: 429 },
  ])('goes on when $name', async ({ lost, how }) => {
    await writePackage();
    let isDue = true;
    repository.interfere = (request) => {
      if (!isDue || !lost.test(request)) return undefined;
      isDue = false;
      return typeof how === 'number' ? { status: how, headers: { 'retry-after': '0' } } : how;
    };
    const { code, err } = await kr(['package', 'load', 'flood', '--publish']);
    expect({ code, isDue }).toEqual({ code: 0, isDue: false });
    expect(err).toContain('retrying in');
    expect(stored()).toEqual(LOADED);
  });

  test('continues an upload where the connection broke', async () => {
    await writePackage();
    await write('flood/files/method.md', Buffer.alloc(20_000_000, 'x'));
    let chunks = 0;
    repository.interfere = (request) => {
      if (!request.startsWith('PATCH ')) return undefined;
      chunks += 1;
      return chunks === 2 ? 'dropped' : undefined;
    };
    const { code, err } = await kr(['package', 'load', 'flood']);
    expect(code).toBe(0);
    expect(err).toContain('retrying in');
    expect(repository.requests.filter((request) => /^POST .*method\.md\/tus$/.test(request))).toHaveLength(1);
    expect(repository.offsets).toEqual([0, 16_777_216]);
  });

  test('reports a file that shrinks while it is uploaded', async () => {
    await writePackage();
    await write('flood/files/method.md', Buffer.alloc(20_000_000, 'x'));
    repository.interfere = (request) => {
      if (/^POST .*method\.md\/tus$/.test(request)) truncateSync(join(folder, 'flood/files/method.md'), 5);
      return undefined;
    };
    const { code, err } = await kr(['package', 'load', 'flood']);
    expect(code).toBe(1);
    expect(err).toContain('method.md changed while it was uploaded');
  });

  test('reports a refused upload with its reason', async () => {
    await writePackage();
    repository.interfere = (request) =>
      request.endsWith('large.bin/tus')
        ? { status: 413, body: { status: 413, message: 'The file is too large.' } }
        : undefined;
    const { code, err } = await kr(['package', 'load', 'flood']);
    expect(code).toBe(1);
    expect(err).toContain('large.bin/tus failed with 413: The file is too large.');
  });

  test('does not create a draft twice when its answer was lost', async () => {
    await writePackage();
    repository.interfere = (request) => (request === 'POST /api/packages' ? 'lost' : undefined);
    const { code, err } = await kr(['package', 'load', 'flood', '--publish', '--concurrency', '1']);
    expect(code).toBe(1);
    expect(err).toContain('cannot be reached');
    expect(repository.requests).toEqual(['POST /api/packages']);
  });

  test('prints each problem that prevents publishing, and the drafts that stay', async () => {
    await writePackage();
    repository.interfere = (request) =>
      request.endsWith('publish')
        ? {
            status: 400,
            body: {
              status: 400,
              message: 'A validation error occurred.',
              errors: [
                { field: 'metadata.title', messages: ['Missing data for required field.'] },
                { field: 'files.enabled', messages: ['No files.'], record: 'abcde-00001' },
              ],
            },
          }
        : undefined;
    const { code, err } = await kr(['package', 'load', 'flood', '--publish']);
    expect(code).toBe(1);
    expect(err).toMatch(
      /publish failed with 400: A validation error occurred\.\n {2}metadata\.title: Missing data for required field\.\n {2}abcde-00001 files\.enabled: No files\.\nDrafts that were created and still exist: abcde-0000\d, abcde-0000\d, abcde-0000\d\n$/,
    );
  });

  test('notices when the service has other bytes than were sent', async () => {
    await writePackage();
    repository.interfere = (request) => {
      for (const { files } of repository.entities.values()) {
        const file = files.get('method.md');
        if (request.endsWith('method.md/commit') && file) file.bytes = Buffer.from('other');
      }
      return undefined;
    };
    const { code, err } = await kr(['package', 'load', 'flood', '--publish']);
    expect(code).toBe(1);
    expect(err).toContain('was corrupted during upload');
  });

  test('sends nothing of a folder with problems and names them all', async () => {
    await write('bad/knowledge-package.json', {
      knowledge_package: { metadata_file: 'none.json', files: ['gone.txt'] },
      resources: [
        'x',
        { metadata_file: 'list.json', files: ['a/same.txt', 'b/same.txt'], file: 'z' },
        { files: 'y' },
      ],
    });
    await write('bad/list.json', '[]');
    await write('bad/a/same.txt', 'x');
    await write('bad/b/same.txt', 'x');
    const { code, err } = await kr(['package', 'load', 'bad']);
    expect(code).toBe(1);
    expect(
      err
        .split('\n')
        .map((line) => line.trim())
        .sort(),
    ).toEqual(
      [
        `${folder}/bad cannot be loaded:`,
        `${folder}/bad/none.json is missing`,
        'gone.txt is missing',
        'knowledge-package.json: resources.0 is not an object',
        'knowledge-package.json: resources.1 has an unknown key "file"; allowed: metadata_file, files, options',
        'knowledge-package.json: resources.1.files has two files named same.txt',
        'knowledge-package.json: resources.2.files is not a list of paths',
        'knowledge-package.json: resources.2.metadata_file is missing',
        'list.json is not a JSON object',
        '',
      ].sort(),
    );
    expect(repository.requests).toEqual([]);
  });
});

describe('kr with an unknown command', () => {
  test.each([[['link', '--help']], [['admin', 'nothing', '--help']], [['nothing']]])(
    '%j fails',
    async (args) => {
      const { code, err } = await kr(args);
      expect([code, err]).toEqual([2, expect.stringContaining('unknown command')]);
    },
  );
});

describe('kr get, search and download', () => {
  async function loaded(): Promise<string> {
    await writePackage();
    const { out } = await kr(['package', 'load', 'flood', '--publish', '--json']);
    return (JSON.parse(out) as { resources: { id: string }[] }).resources[0]?.id ?? '';
  }

  test('find a resource by its DOI and show it', async () => {
    const id = await loaded();
    const { code, out } = await kr(['get', `https://doi.org/10.5072/${id}`]);
    expect({ code, out }).toEqual({
      code: 0,
      out: `title   Gauges\nid      ${id}\nkind    record\nstate   published\nparent  p${id}\ndoi     10.5072/${id}\nlink    ${repository.baseUrl}/api/records/${id}\n`,
    });
  });

  test('search prints a line for each hit, the count apart', async () => {
    const id = await loaded();
    const { code, out, err } = await kr(['search', 'Gauges'], { KR_TOKEN: '' });
    expect({ code, out, err }).toEqual({ code: 0, out: `${id}  record     Gauges\n`, err: '1 of 1 hits\n' });
  });

  test('download stores the same bytes and skips existing files', async () => {
    const id = await loaded();
    const first = await kr(['download', id, '--to', 'here']);
    expect({ code: first.code, out: first.out }).toEqual({
      code: 0,
      out: `${join(folder, 'here/large.bin')}\n${join(folder, 'here/ä b.txt')}\n`,
    });
    expect((await readFile(join(folder, 'here/large.bin'))).equals(LARGE)).toBe(true);
    repository.requests.length = 0;
    await kr(['download', id, '--to', 'here']);
    expect(repository.requests.filter((request) => request.endsWith('content'))).toEqual([]);
  });

  test('download continues where the connection broke', async () => {
    const id = await loaded();
    repository.interfere = (request) => {
      if (!request.endsWith('large.bin/content')) return undefined;
      repository.interfere = () => undefined;
      return 'broken';
    };
    const { code } = await kr(['download', id, '--to', 'here']);
    expect(code).toBe(0);
    expect((await readFile(join(folder, 'here/large.bin'))).equals(LARGE)).toBe(true);
    expect(repository.ranges).toEqual([expect.stringMatching(/^bytes=[1-9]\d*-2999999$/)]);
  });

  test('download stores no file whose checksum differs', async () => {
    const id = await loaded();
    repository.interfere = (request) =>
      request.endsWith('large.bin/content') ? { status: 200, body: 'damaged' } : undefined;
    const { code, err } = await kr(['download', id, '--to', 'here']);
    expect(code).toBe(1);
    expect(err).toContain('"large.bin": it was not downloaded');
    expect((await readdir(join(folder, 'here'))).sort()).toEqual(['ä b.txt']);
    await expect(stat(join(folder, 'here/large.bin'))).rejects.toThrow('ENOENT');
  });

  test('download never writes outside its folder', async () => {
    const id = await loaded();
    const entity = repository.entities.get(id);
    entity?.files.set('../escaped', { bytes: Buffer.from('x'), isCommitted: true });
    const { code, err } = await kr(['download', id, '--to', 'here']);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(
        `1 of 3 files were not downloaded:\n  "../escaped": not a valid file name in ${join(folder, 'here')}\n`,
      ),
    });
    expect((await readdir(join(folder, 'here'))).sort()).toEqual(['large.bin', 'ä b.txt']);
  });

  test('download stores files in a folder named after the id by default', async () => {
    const id = await loaded();
    expect((await kr(['download', id])).code).toBe(0);
    expect((await readdir(join(folder, id))).sort()).toEqual(['large.bin', 'ä b.txt']);
  });

  test('download replaces no file that differs without --force', async () => {
    const id = await loaded();
    await mkdir(join(folder, 'here'));
    await writeFile(join(folder, 'here/large.bin'), 'mine');
    const { code, err } = await kr(['download', id, '--to', 'here']);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining('large.bin exists with other content; --force replaces it'),
    });
    expect(await readFile(join(folder, 'here/large.bin'), 'utf8')).toBe('mine');
    expect((await readdir(join(folder, 'here'))).sort()).toEqual(['large.bin', 'ä b.txt']);
    expect((await kr(['download', id, '--to', 'here', '--force'])).code).toBe(0);
    expect((await readFile(join(folder, 'here/large.bin'))).equals(LARGE)).toBe(true);
  });

  test('download stores files whose names look like temporary files or parent folders', async () => {
    const id = await loaded();
    const names = ['data', 'data.part', 'data.part.part', '...', '..x'];
    for (const name of names)
      repository.entities.get(id)?.files.set(name, { bytes: Buffer.from(name), isCommitted: true });
    await mkdir(join(folder, 'here'));
    await writeFile(join(folder, 'here/large.bin.part'), 'mine');
    expect((await kr(['download', id, '--to', 'here'])).code).toBe(0);
    for (const name of names) expect(await readFile(join(folder, 'here', name), 'utf8')).toBe(name);
    expect(await readFile(join(folder, 'here/large.bin.part'), 'utf8')).toBe('mine');
  });

  test('explain an unknown id', async () => {
    expect(await kr(['get', 'zzzzz-zzzzz'])).toMatchObject({
      code: 1,
      err: 'There is no published resource or package zzzzz-zzzzz. Use --draft to read a draft.\n',
    });
    expect(await kr(['get', 'nothing'])).toMatchObject({
      code: 1,
      err: '"nothing" has no id in it; ids look like abcde-12345\n',
    });
  });
});

describe('kr with links', () => {
  const nothing = { KR_BASE_URL: '', KR_TOKEN: '' };
  async function loadedDraft(): Promise<string> {
    await writePackage();
    const { out } = await kr(['package', 'load', 'flood', '--json']);
    return (JSON.parse(out) as { package: { id: string } }).package.id;
  }

  test('get and download read the draft that a link is of', async () => {
    const id = await loadedDraft();
    repository.requests.length = 0;
    const link = `${repository.baseUrl}/api/packages/${id}/draft`;
    expect(await kr(['get', link])).toMatchObject({ code: 0, out: expect.stringContaining('state   draft') });
    expect(repository.requests).toEqual([`GET /api/packages/${id}/draft`]);
    expect(await kr(['get', `${repository.baseUrl}/uploads/${id}`])).toMatchObject({ code: 0 });
    expect(await kr(['download', link])).toMatchObject({ code: 0 });
    expect(await readdir(join(folder, id))).toEqual(['method.md']);
  });

  test('get and download send the token of an access link to the host of the link', async () => {
    const id = await loadedDraft();
    repository.credentials.clear();
    const link = `${repository.baseUrl}/api/packages/${id}/draft?token=kl1_x`;
    expect(await kr(['get', link], nothing)).toMatchObject({ code: 0 });
    expect(await kr(['download', link], nothing)).toMatchObject({ code: 0 });
    expect([...repository.linkTokens]).toEqual(['kl1_x']);
    expect([...repository.credentials]).toEqual([]);
    expect(
      await kr(['get', `${repository.baseUrl}/api/packages/${id}/draft`, '--token', 'kl1_x'], nothing),
    ).toMatchObject({ code: 0 });
    expect([...repository.credentials]).toEqual(['AccessLink kl1_x']);
  });

  test('a refused link is reported', async () => {
    repository.interfere = () => ({ status: 403, body: { status: 403, message: 'Permission denied.' } });
    const { err } = await kr(['get', `${repository.baseUrl}/api/records/abcde-00000?token=kl1_x`], nothing);
    expect(err).toContain('Only the token of the access link was sent. It may have expired');
  });

  test('an unknown id is reported as a possible draft', async () => {
    const id = await loadedDraft();
    expect((await kr(['get', id])).err).toBe(
      `There is no published resource or package ${id}. Use --draft to read a draft.\n`,
    );
    expect((await kr(['get', `${repository.baseUrl}/api/packages/${id}`])).err).toBe(
      `There is no published package ${id}. Use --draft to read a draft.\n`,
    );
  });

  test('--anonymous sends no token', async () => {
    expect(await kr(['search', 'x', '--anonymous'])).toMatchObject({ code: 0 });
    expect([...repository.credentials]).toEqual([]);
    expect(await kr(['search', 'x', '--anonymous', '--token', 'good'])).toMatchObject({ code: 2 });
  });

  test.each([
    ['--token', ['--token', 'bad'], {}],
    ['the environment variable KR_TOKEN', [], { KR_TOKEN: 'bad' }],
  ])('a refused token names %s', async (source, args, env) => {
    repository.interfere = () => ({
      status: 401,
      body: { status: 401, message: 'The access token is unknown.' },
    });
    expect((await kr(['search', 'x', ...args], env)).err).toContain(`The token comes from ${source}.`);
  });

  test('a refused token names the file that it comes from', async () => {
    await write('.data/credentials.json', { base_url: repository.baseUrl, token: 'old' });
    repository.interfere = () => ({
      status: 401,
      body: { status: 401, message: 'The access token is unknown.' },
    });
    expect((await kr(['search', 'x'], nothing)).err).toContain(
      `The token comes from ${join(folder, '.data/credentials.json')}.`,
    );
  });
});

describe('kr login', () => {
  const nothing = { KR_BASE_URL: '', KR_TOKEN: '' };

  test('stores a valid token, for this user only, and later calls use it', async () => {
    const { code } = await kr(['login', '--base-url', repository.baseUrl, '--token', 'good'], nothing);
    const file = join(folder, 'config/kr/credentials.json');
    expect({ code, mode: (await stat(file)).mode & 0o777 }).toEqual({ code: 0, mode: 0o600 });
    repository.credentials.clear();
    expect(await kr(['search', 'x'], nothing)).toMatchObject({ code: 0 });
    expect([...repository.credentials]).toEqual(['Bearer good']);
  });

  test('stores no invalid token', async () => {
    const { code, err } = await kr(['login', '--token', 'bad'], { KR_TOKEN: '' });
    expect({ code, err }).toEqual({
      code: 1,
      err: `${repository.baseUrl} rejected the token from --token.\n`,
    });
    await expect(stat(join(folder, 'config'))).rejects.toThrow('ENOENT');
  });

  test('a stored token is never sent to another service', async () => {
    await kr(['login', '--token', 'good']);
    await using other = await fakeRepository();
    await kr(['search', 'x', '--base-url', other.baseUrl], nothing);
    expect([...other.credentials]).toEqual([]);
  });

  test('the local system of the folder is found', async () => {
    await write('.data/credentials.json', { base_url: repository.baseUrl, user: 'demo', token: 'good' });
    expect(await kr(['search', 'x'], nothing)).toMatchObject({ code: 0 });
    expect([...repository.credentials]).toEqual(['Bearer good']);
  });

  test('without a token, the message has advice', async () => {
    await writePackage();
    const { code, err } = await kr(['package', 'load', 'flood'], { KR_TOKEN: '' });
    expect(code).toBe(1);
    expect(err).toContain('No token was sent. `kr login` stores one, or set KR_TOKEN.');
  });
});

describe('kr', () => {
  test.each([
    [[]],
    [['package', 'load']],
    [['nonsense']],
    [['search', '--size', '0']],
    [['search', '--kind', 'x', 'y']],
  ])('rejects %j with its usage', async (args) => {
    const { code, err } = await kr(args);
    expect(code).toBe(2);
    expect(err).toMatch(/--help|Usage/);
  });

  test.each([
    [['--help']],
    [['login', '--help']],
    [['package', 'load', '--help']],
    [['admin', 'user', 'create', '--help']],
    [['admin', 'user', 'disable', '--help']],
    [['admin', 'user', 'revoke-token', '--help']],
  ])('explains %j', async (args) => {
    const { code, out } = await kr(args);
    expect(code).toBe(0);
    expect(out).toMatch(/^Usage: kr /);
  });

  test('finds a local system that has no first user', async () => {
    await write('data/runtime.json', { base_url: repository.baseUrl, admin: {} });
    const local = { KR_BASE_URL: '', KR_TOKEN: '' };
    const { code, err } = await kr(['search', 'nothing', '--data-dir', 'data'], local);
    expect({ code, err }).toEqual({ code: 0, err: '0 of 0 hits\n' });
  });

  test.each([
    ['create', 'ada'],
    ['list'],
    ['disable', 'ada'],
    ['enable', 'ada'],
    ['tokens', 'ada'],
    ['revoke-token', 'ada', '--all'],
    ['audit-log', 'ada'],
  ])('kr admin user %s needs a running system', async (...args) => {
    const { code, err } = await kr(['admin', 'user', ...args, '--data-dir', 'none']);
    expect(code).toBe(1);
    expect(err).toContain('No running system in');
  });
});
